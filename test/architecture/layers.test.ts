/** Every file keeps the layer rules of the README, and each rule finds its violations. */
import { globSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { layerViolations, type SourceFiles } from './layers.ts'

const root = new URL('../..', import.meta.url).pathname
const paths = globSync(['src/**/*.ts', 'schema/**/*.ts', 'jobs/**/*.ts'], { cwd: root })
  // Writes the documents, so it reads all modules; nothing imports it.
  .filter((path) => path !== 'schema/dictionary.ts')
const files: SourceFiles = new Map(
  paths.map((path) => [path.replaceAll('\\', '/'), readFileSync(`${root}${path}`, 'utf8')]),
)

test('every file imports from its own module or a lower layer, and keeps the layer rules', () => {
  expect(files.size).toBeGreaterThan(30)
  expect(layerViolations(files)).toEqual([])
})

const violations: readonly { rule: string; files: Record<string, string>; says: RegExp }[] = [
  {
    rule: 'a lower layer does not import a higher one',
    files: { 'src/core/a.ts': "import { b } from '../api/b.ts'", 'src/api/b.ts': '' },
    says: /src\/core\/a\.ts imports \.\.\/api\/b\.ts: core may import only core/,
  },
  {
    rule: 'streams, api and warehouse do not import each other',
    files: { 'src/streams/a.ts': "import type { b } from '../warehouse/b.ts'", 'src/warehouse/b.ts': '' },
    says: /streams may import only streams, core/,
  },
  {
    rule: 'nothing but the command line imports the sandbox',
    files: { 'src/app/c.ts': "const x = await import('../sandbox/s.ts')", 'src/sandbox/s.ts': '' },
    says: /src\/app\/c\.ts imports \.\.\/sandbox\/s\.ts/,
  },
  {
    rule: 'the sandbox imports only core and schema',
    files: { 'src/sandbox/s.ts': "import { a } from '../api/a.ts'", 'src/api/a.ts': '' },
    says: /sandbox may import only sandbox, core, schema/,
  },
  {
    rule: 'SQL stays in the warehouse',
    files: { 'src/sync/a.ts': "import { sql } from 'kysely'" },
    says: /only schema and warehouse may import kysely/,
  },
  {
    rule: 'the queue stays in jobs',
    files: { 'src/app/c.ts': "import { Queue } from 'bullmq'" },
    says: /only jobs may import bullmq/,
  },
  {
    rule: 'the environment is read in one file',
    files: { 'src/cli/a.ts': 'const x = process.env.HOME' },
    says: /src\/cli\/a\.ts reads process\.env/,
  },
  {
    rule: 'core has no clock',
    files: { 'src/core/a.ts': 'export const now = Date.now()' },
    says: /src\/core\/a\.ts uses Date\.now/,
  },
  {
    rule: 'core has no I/O',
    files: { 'src/core/a.ts': "import { readFile } from 'node:fs/promises'" },
    says: /core has no I\/O/,
  },
  {
    rule: 'files do not import each other in a cycle',
    files: { 'src/core/a.ts': "import './b.ts'", 'src/core/b.ts': "export * from './a.ts'" },
    says: /a cycle: src\/core\/a\.ts → src\/core\/b\.ts → src\/core\/a\.ts/,
  },
  {
    rule: 'an import names the file with its extension',
    files: { 'src/core/a.ts': "import { b } from './b'", 'src/core/b.ts': '' },
    says: /write the file's extension/,
  },
  { rule: 'files have specific names', files: { 'src/api/utils.ts': '' }, says: /src\/api\/utils\.ts: a vague name/ },
  {
    rule: 'a new module needs layer rules',
    files: { 'src/extra/a.ts': "import { b } from '../core/b.ts'", 'src/core/b.ts': '' },
    says: /no module extra/,
  },
]

describe('each rule finds its violations', () => {
  test.each(violations)('$rule', ({ files: wrong, says }) => {
    const found = layerViolations(new Map(Object.entries(wrong)))
    expect(found).toHaveLength(1)
    expect(found[0]).toMatch(says)
  })
})
