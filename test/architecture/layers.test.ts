/** The floor plan of the README holds in every file, and each of its rules catches what it forbids. */
import { globSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type SourceFiles, layerViolations } from './layers.ts'

const root = new URL('../..', import.meta.url).pathname
const paths = globSync(['src/**/*.ts', 'schema/**/*.ts', 'jobs/**/*.ts'], { cwd: root })
const files: SourceFiles = new Map(paths.map((path) => [path.replaceAll('\\', '/'), readFileSync(`${root}${path}`, 'utf8')]))

test('every file imports from its own room or a lower floor, and keeps the rules of the house', () => {
  expect(files.size).toBeGreaterThan(30)
  expect(layerViolations(files)).toEqual([])
})

const forbidden: readonly { rule: string; files: Record<string, string>; says: RegExp }[] = [
  {
    rule: 'a lower floor does not import a higher one',
    files: { 'src/core/a.ts': "import { b } from '../api/b.ts'", 'src/api/b.ts': '' },
    says: /src\/core\/a\.ts imports \.\.\/api\/b\.ts: core may import only core/,
  },
  {
    rule: 'streams, api and warehouse do not know each other',
    files: { 'src/streams/a.ts': "import type { b } from '../warehouse/b.ts'", 'src/warehouse/b.ts': '' },
    says: /streams may import only streams, core/,
  },
  {
    rule: 'nothing but the command line imports the sandbox',
    files: { 'src/compose/c.ts': "const x = await import('../sandbox/s.ts')", 'src/sandbox/s.ts': '' },
    says: /src\/compose\/c\.ts imports \.\.\/sandbox\/s\.ts/,
  },
  {
    rule: 'the sandbox knows the values and the document only',
    files: { 'src/sandbox/s.ts': "import { a } from '../api/a.ts'", 'src/api/a.ts': '' },
    says: /sandbox may import only sandbox, core, schema/,
  },
  {
    rule: 'SQL stays in the warehouse',
    files: { 'src/sync.ts': "import { sql } from 'kysely'" },
    says: /only schema and warehouse may know kysely/,
  },
  {
    rule: 'the queue stays in its room',
    files: { 'src/compose/c.ts': "import { Queue } from 'bullmq'" },
    says: /only jobs may know bullmq/,
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
    rule: 'files do not import each other in a circle',
    files: { 'src/core/a.ts': "import './b.ts'", 'src/core/b.ts': "export * from './a.ts'" },
    says: /a cycle: src\/core\/a\.ts → src\/core\/b\.ts → src\/core\/a\.ts/,
  },
  {
    rule: 'an import names the file with its extension',
    files: { 'src/core/a.ts': "import { b } from './b'", 'src/core/b.ts': '' },
    says: /write the file's extension/,
  },
  { rule: 'there are no drawers', files: { 'src/api/utils.ts': '' }, says: /src\/api\/utils\.ts: a drawer/ },
  {
    rule: 'a new room needs a place in the plan',
    files: { 'src/attic/a.ts': "import { b } from '../core/b.ts'", 'src/core/b.ts': '' },
    says: /no room attic/,
  },
]

describe('the plan catches what it forbids', () => {
  test.each(forbidden)('$rule', ({ files: wrong, says }) => {
    const found = layerViolations(new Map(Object.entries(wrong)))
    expect(found).toHaveLength(1)
    expect(found[0]).toMatch(says)
  })
})
