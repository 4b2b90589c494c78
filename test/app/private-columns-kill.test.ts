/** Wherever the cleaning is killed, the next sync ends as one that was not killed. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { DatabaseKind } from '../../schema/column-types.ts'
import { runDeskmirror } from '../cli/run-process.ts'
import { runsAllCases } from '../support/sampled.ts'
import { createPrivateFixture, hashKey, rules } from './private-columns-fixture.ts'

const preload = new URL('./kill-before-statement.ts', import.meta.url).href

async function startCleaning(database: DatabaseKind) {
  const fixture = await createPrivateFixture(database)
  const { instance, sandbox, sync } = fixture
  sandbox.mutate.renameVisitor(fixture.visitor(0), 'A Former Name', 'former@example.org')
  await sync(rules.none)
  sandbox.mutate.renameVisitor(fixture.visitor(0), 'A Later Name', 'later@example.org')
  await sync(rules.none, { mode: 'full' })
  const cwd = mkdtempSync(join(tmpdir(), 'columns-kill-'))
  onTestFinished(() => rmSync(cwd, { recursive: true }))
  const lines = rules.all.map(({ stream, path, action }) => `  "${stream}.${path}": ${action}`)
  const project = `{ base_url: "${sandbox.baseUrl}", project_id: "${sandbox.projectId}", api_key: { env: KEY } }`
  writeFileSync(
    join(cwd, 'deskmirror.yaml'),
    `history: [visitors]\ncolumns:\n${lines.join('\n')}\nhash_key: { env: HASH_KEY }\nprojects:\n  shop: ${project}\n`,
  )
  const run = async (env: Readonly<Record<string, string>> = {}) => {
    const variables = {
      KEY: sandbox.key,
      HASH_KEY: hashKey.reveal().replaceAll(' ', '-'),
      DESKMIRROR_DATABASE_URL: instance.url,
      NODE_OPTIONS: `--import=${preload}`,
      KILL_FROM: 'update sync_audits set differences',
      ...env,
    }
    const { exit, err } = await runDeskmirror(['sync'], { cwd, env: variables })
    return { exit, err }
  }
  const leaks = (texts = fixture.secrets()) =>
    fixture.leaks([...texts, 'A Former Name', 'former@example.org'])
  return { ...fixture, leaks, cwd, run }
}

/** Of each kind of statement the one in the middle. */
async function listKillPoints(database: DatabaseKind): Promise<readonly string[]> {
  const { run, leaks, cwd } = await startCleaning(database)
  const file = join(cwd, 'statements')
  expect(await run({ STATEMENTS: file })).toMatchObject({ exit: 0 })
  expect(await leaks()).toEqual([])
  const statements = readFileSync(file, 'utf8').trim().split('\n')
  const ofKind = Map.groupBy(statements, (statement) => statement.replace(/ \d+$/, ''))
  return [...ofKind.values()].map((some) => some[some.length >> 1]!)
}

/** While rows are cleaned, by the same SQL on both; and before the files are, which differs. */
const sample = { sqlite: ['update visitors 2'], postgres: ['vacuum full 1'] } as const

for (const database of ['sqlite', 'postgres'] as const)
  test(`wherever the cleaning is killed, the next sync completes it — ${database}`, async () => {
    const points = runsAllCases() ? await listKillPoints(database) : sample[database]
    let leftBehind = 0
    for (const point of points) {
      const { run, leaks } = await startCleaning(database)
      expect((await run({ KILL_BEFORE: point })).exit, point).toBe(null)
      leftBehind += (await leaks()).length
      expect(await run(), point).toMatchObject({ exit: 0 })
      expect(await leaks(), point).toEqual([])
    }
    expect(leftBehind, 'some of the kills left texts').toBeGreaterThan(0)
  }, 600_000)
