/** Every file keeps the rules of modules in the README, and each rule finds its violations. */
import { globSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { moduleViolations, type SourceFiles } from './modules.ts'

const root = new URL('../..', import.meta.url).pathname
const paths = globSync(['src/**/*.ts', 'schema/**/*.ts', 'jobs/**/*.ts', 'build/**/*.ts'], {
  cwd: root,
})
const files: SourceFiles = new Map(
  paths.map((path) => [path.replaceAll('\\', '/'), readFileSync(`${root}${path}`, 'utf8')]),
)

test('every file imports from its own module or from those that it may, and keeps the rules', () => {
  expect(files.size).toBeGreaterThan(30)
  expect(moduleViolations(files)).toEqual([])
})

const violations: readonly { rule: string; files: Record<string, string>; says: RegExp }[] = [
  {
    rule: 'a value imports no module',
    files: { 'src/values/a.ts': "import { b } from '../../schema/b.ts'", 'schema/b.ts': '' },
    says: /src\/values\/a\.ts imports \.\.\/\.\.\/schema\/b\.ts: values may import only values/,
  },
  {
    rule: 'the mirror knows nothing of write-backs',
    files: {
      'src/mirror/a.ts': "import type { b } from '../outbox/outbox.ts'",
      'src/outbox/outbox.ts': '',
    },
    says: /mirror may import only mirror, values, log, schema, config, warehouse, service/,
  },
  {
    rule: 'of another module, only what its front names is imported',
    files: {
      'src/cli/a.ts': "import { b } from '../mirror/sync/b.ts'",
      'src/mirror/sync/b.ts': '',
    },
    says: /src\/cli\/a\.ts imports \.\.\/mirror\/sync\/b\.ts: of mirror, others import only what src\/mirror\/mirror\.ts names/,
  },
  {
    rule: 'a value is imported from its file, so that its module is not loaded as a whole',
    files: {
      'src/cli/a.ts': "import { type A, b } from '../mirror/mirror.ts'",
      'src/mirror/mirror.ts': "export { type A, b } from './sync/b.ts'",
      'src/mirror/sync/b.ts': '',
    },
    says: /src\/cli\/a\.ts imports b from \.\.\/mirror\/mirror\.ts: import it from src\/mirror\/sync\/b\.ts/,
  },
  {
    rule: 'nothing but the command line imports the sandbox',
    files: { 'src/app/c.ts': "const x = await import('../sandbox/s.ts')", 'src/sandbox/s.ts': '' },
    says: /src\/app\/c\.ts imports \.\.\/sandbox\/s\.ts/,
  },
  {
    rule: 'the sandbox imports only values and schema',
    files: { 'src/sandbox/s.ts': "import { a } from '../service/a.ts'", 'src/service/a.ts': '' },
    says: /sandbox may import only sandbox, values, schema/,
  },
  {
    rule: 'SQL stays in files of SQL',
    files: { 'src/mirror/sync/a.ts': "import { sql } from 'kysely'" },
    says: /only schema and warehouse and sql and views may import kysely/,
  },
  {
    rule: 'a decision imports no I/O of its module',
    files: { 'src/outbox/core/a.ts': "import { b } from '../sql/b.ts'", 'src/outbox/sql/b.ts': '' },
    says: /src\/outbox\/core\/a\.ts imports \.\.\/sql\/b\.ts: a decision imports only decisions and values/,
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
    rule: 'a decision has no clock',
    files: { 'src/mirror/core/a.ts': 'export const now = Date.now()' },
    says: /src\/mirror\/core\/a\.ts uses Date\.now/,
  },
  {
    rule: 'a decision has no I/O',
    files: { 'src/mirror/core/a.ts': "import { readFile } from 'node:fs/promises'" },
    says: /a decision has no I\/O/,
  },
  {
    rule: 'files do not import each other in a cycle',
    files: { 'src/values/a.ts': "import './b.ts'", 'src/values/b.ts': "export * from './a.ts'" },
    says: /a cycle: src\/values\/a\.ts → src\/values\/b\.ts → src\/values\/a\.ts/,
  },
  {
    rule: 'an import names the file with its extension',
    files: { 'src/values/a.ts': "import { b } from './b'", 'src/values/b.ts': '' },
    says: /write the file's extension/,
  },
  {
    rule: 'files have specific names',
    files: { 'src/service/utils.ts': '' },
    says: /src\/service\/utils\.ts: a vague name/,
  },
  {
    rule: 'a file imports few others',
    files: Object.fromEntries([
      ['src/values/a.ts', Array.from({ length: 21 }, (_, n) => `import './b${n}.ts'`).join('\n')],
      ...Array.from({ length: 21 }, (_, n) => [`src/values/b${n}.ts`, '']),
    ]),
    says: /src\/values\/a\.ts imports 21 files: at most 20/,
  },
  {
    rule: 'a new module needs rules',
    files: { 'src/extra/a.ts': "import { b } from '../values/b.ts'", 'src/values/b.ts': '' },
    says: /no module extra/,
  },
]

describe('each rule finds its violations', () => {
  test.each(violations)('$rule', ({ files: wrong, says }) => {
    const found = moduleViolations(new Map(Object.entries(wrong)))
    expect(found).toHaveLength(1)
    expect(found[0]).toMatch(says)
  })
})
