/**
 * Begins ordinary changes in a copy of the sources: the compiler names the files that
 * CONTRIBUTING.md says to touch.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sampledTest } from '../support/sampled.ts'
import { createTempFolder } from '../support/temp-folder.ts'

const root = new URL('../..', import.meta.url).pathname

type Change = {
  /** The first cell of its row in CONTRIBUTING.md. */
  readonly row: string
  /** What is inserted before a text in a file. */
  readonly edits: readonly (readonly [file: string, before: string, inserted: string])[]
  /** The files of the sources that no longer compile. */
  readonly named: readonly string[]
}

const spec = (kind: string) =>
  `{ kind: '${kind}', timeColumn: 'at', startColumn: 'at', hasStartDate: false,
     facts: null, audited: null,`
const table = (erasedWith: string) =>
  `note: '', key: ['project_id', 'id'], erasedWith: ${erasedWith}, columns: { ...rowColumns, id: ['key', '']`

const changes: readonly Change[] = [
  {
    row: 'a list stream',
    edits: [
      [
        'schema/stream-specs.ts',
        '  calls: {\n',
        `tickets: ${spec('list')} table: 'tickets', singular: 'ticket', hasUuids: true, newerBy: null, movingFields: [] },\n`,
      ],
      [
        'schema/mirror-tables.ts',
        '  conversations: {\n',
        `tickets: { ${table("{ id: 'tickets' }")}, at: ['time?', ''],
           unchanged_since: ['time?', ''] } },\n`,
      ],
    ],
    named: ['src/mirror/core/streams.ts'],
  },
  {
    row: '… with children',
    edits: [
      [
        'schema/stream-specs.ts',
        '  calls: {\n',
        `comments: ${spec('child-list')} parent: 'visitors', table: 'comments' },\n`,
      ],
      [
        'schema/mirror-tables.ts',
        '  conversations: {\n',
        `comments: { ${table('{}')}, at: ['time?', ''], visitor_id: ['key', ''] } },\n`,
      ],
    ],
    named: ['src/mirror/core/streams.ts', 'schema/mirror-tables.ts'],
  },
  {
    // One that limits what is mirrored: sync, verify and audit get it.
    row: 'a setting',
    edits: [
      [
        'src/config/project-settings.ts',
        "  timeZone: setting('",
        "ignoreOlderThanMs: setting('ignore_older_than', field.duration.default(0)).about('How old rows may be.'),\n",
      ],
      [
        'src/mirror/core/mirrored-range.ts',
        '  /** How far back calls, analytics and activity go;',
        'readonly ignoreOlderThanMs: number\n',
      ],
    ],
    named: [],
  },
  {
    // One that sets a field that no other sets.
    row: 'a write-back operation',
    edits: [
      [
        'schema/operation-specs.ts',
        "  name: { target: 'visitor', shownAs",
        "tag: { target: 'visitor', shownAs: 'tag' },\n",
      ],
      [
        'schema/operation-specs.ts',
        "  note: { target: 'visitor',",
        "tag: { target: 'visitor', isIdempotent: true, since: '0002_tags', payload: { tag: { maxLength: 50 } } },\n",
      ],
      [
        'src/outbox/core/operations.ts',
        '  note: {\n',
        `tag: { ...operationSpecs.tag, notRevertible: null, isPublic: false, words: ['tag', 'tags'],
           action: 'add_note', sets: ['tag'], readsPerSend: 0, fields: { tag: contentField }, summary: '', examples: [] },\n`,
      ],
    ],
    named: ['schema/migrations/migrations.ts', 'src/outbox/handlers/all-handlers.ts'],
  },
  {
    row: 'a CSV column',
    edits: [
      [
        'src/outbox/core/common-fields.ts',
        '  readonly expiresAt: string',
        'readonly priority: string | null; ',
      ],
      [
        'src/outbox/core/common-fields.ts',
        '  expires_at: {',
        "priority: { property: 'priority', kind: 'word', schema: timeSchema, value: '', help: '' },\n",
      ],
      ['schema/outbox-tables.ts', "  expires_at: ['time?'", "priority: ['text?', ''], "],
      ['src/console/screen.ts', "  'samples',\n] as const", "'priority',"],
    ],
    named: [],
  },
  {
    // Of one operation: the database would refuse it without its payload in the schema.
    row: 'a CSV column',
    edits: [
      [
        'src/outbox/core/operations.ts',
        " content: contentField },\n    summary: 'an internal",
        ' subject: contentField,',
      ],
    ],
    named: ['src/outbox/core/operations.ts'],
  },
  {
    row: 'an export format',
    edits: [
      [
        'src/export/core/formats.ts',
        '  sqlite: { endings: ',
        "avro: { endings: ['avro'], isText: false },\n",
      ],
    ],
    named: ['src/export/writers/row-writers.ts'],
  },
  {
    row: 'a queue backend',
    edits: [
      [
        'src/config/queue-backends.ts',
        '  redis: {\n',
        "nats: { schemes: ['nats'], sharesBudgetsThrough: 'warehouse', allowsSeveralWorkers: true },\n",
      ],
    ],
    named: ['jobs/backends/open-backend.ts'],
  },
  {
    row: 'a page of the console',
    edits: [
      [
        'src/console/routes/screens.ts',
        "  { path: '/waiting',",
        "{ path: '/tags', role: 'viewer', show: showService },\n",
      ],
      ['src/console/navigation.ts', "    ['Budget',", "['Tags', '/tags', 'g'],\n"],
    ],
    named: [],
  },
  {
    row: 'a view for analysts',
    edits: [
      [
        'src/analytics/views/all-views.ts',
        '  ...dimensions,\n',
        "report_tags: { note: '', caveat: null, key: ['project_id'], columns: {}, select: () => '' },\n",
      ],
    ],
    named: [],
  },
  {
    // A number that does not say whether it can be added up.
    row: 'a column of the facts',
    edits: [
      ['schema/analytics-tables.ts', "      first_page: ['text?'", "pages: ['int32', ''],\n"],
    ],
    named: ['schema/analytics-tables.ts', 'src/analytics/sql/visit-facts.ts'],
  },
  {
    // A gauge of the warehouse.
    row: 'a metric with an alert',
    edits: [['src/http/metrics.ts', '  open_gaps: [', "tagged: [''], "]],
    named: ['src/http/metrics.ts'],
  },
  {
    row: 'a command',
    edits: [['src/cli/program.ts', '  init: [', "tags: ['', () => import('./sync.ts')],\n"]],
    named: [],
  },
]

// Compiling all sources takes ten times as long as all other tests of this folder.
sampledTest(false, 'the compiler names what is missing after each', async () => {
  const folder = createTempFolder()
  for (const part of ['src', 'schema', 'jobs', 'package.json', 'tsconfig.json'])
    cpSync(join(root, part), join(folder, part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const [file, before, inserted] of changes.flatMap(({ edits }) => edits)) {
    const [head, tail, ...more] = readFileSync(join(folder, file), 'utf8').split(before)
    expect([file, tail === undefined, more]).toEqual([file, false, []])
    writeFileSync(join(folder, file), `${head}${inserted}${before}${tail}`)
  }
  writeFileSync(
    join(folder, 'changed.json'),
    '{ "extends": "./tsconfig.json", "include": ["src", "schema", "jobs"] }',
  )
  const compiler = join(root, 'node_modules/.bin/tsc')
  const options = ['-p', 'changed.json', '--pretty', 'false', '--singleThreaded']
  const { stdout } = spawnSync(compiler, options, {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, GOGC: 'off' },
  })
  const files = new Set(
    [...stdout.matchAll(/^([^\s(]+)\(\d+,\d+\): error/gm)].map(([, file = '']) => file),
  )
  expect([...files].sort(), stdout).toEqual(
    [...new Set(changes.flatMap(({ named }) => named))].sort(),
  )
})

test('CONTRIBUTING.md names the files of each, and what an edit begins at is there', () => {
  const rows = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8').split('\n')
  for (const { row, edits, named } of changes) {
    const line = rows.find((text) => text.startsWith(`| ${row} |`)) ?? ''
    for (const [file, before] of edits)
      expect(readFileSync(join(root, file), 'utf8').split(before), file).toHaveLength(2)
    for (const file of [...edits.map(([edited]) => edited), ...named])
      expect(line, `${row}: ${file}`).toContain(file.slice(file.lastIndexOf('/') + 1))
  }
})
