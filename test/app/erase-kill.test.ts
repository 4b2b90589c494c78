/** Wherever an erasure is killed, the same command again ends as one that was not killed. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { DatabaseKind } from '../../schema/column-types.ts'
import { runInProcess } from '../cli/run-in-process.ts'
import { runDeskmirror } from '../cli/run-process.ts'
import { runsAllCases } from '../support/sampled.ts'
import { mirrorOnePerson } from './one-person.ts'
import { readStoredBytes } from './stored-bytes.ts'

const preload = new URL('./kill-before-statement.ts', import.meta.url).href

async function startErasure(database: DatabaseKind) {
  const fixture = await mirrorOnePerson(database)
  const { instance, sandbox, visitor, person, words, warehouse, queue } = fixture
  await queue({ operation: 'note', visitor_id: visitor, content: 'A secret note of theirs.' })
  await warehouse.query('analyze')
  const cwd = mkdtempSync(join(tmpdir(), 'erase-kill-'))
  onTestFinished(() => rmSync(cwd, { recursive: true }))
  const variables = {
    DESKMIRROR_BASE_URL: sandbox.baseUrl,
    DESKMIRROR_PROJECT_ID: sandbox.projectId,
    DESKMIRROR_API_KEY: sandbox.key,
    DESKMIRROR_DATABASE_URL: instance.url,
  }
  const command = ['erase', '--visitor', visitor, '--yes', '--json']
  const run = async (args: readonly string[]) => {
    const { exit, out, err } = await runInProcess(args, { cwd, env: variables })
    return { exit, err, document: JSON.parse(out) }
  }
  /** In a process that writes down its statements, or is killed before one. */
  const eraseWatched = async (env: Readonly<Record<string, string>>) => {
    const watched = { ...variables, NODE_OPTIONS: `--import=${preload}`, ...env }
    return (await runDeskmirror(command, { cwd, env: watched })).exit
  }
  const secrets = [String(person.email), words[0]!, 'A secret note of theirs.']
  return {
    fixture,
    cwd,
    eraseWatched,
    erase: () => run(command),
    status: async () => (await run(['status', '--json'])).document.projects[0],
    left: async () => {
      const all = await readStoredBytes(instance, warehouse.query)
      return secrets.filter((text) => all.includes(text))
    },
    secrets,
  }
}

/** The statements of an erasure that is not killed: of each kind the one in the middle. */
async function listKillPoints(database: DatabaseKind): Promise<readonly string[]> {
  const { eraseWatched, left, cwd } = await startErasure(database)
  const file = join(cwd, 'statements')
  expect(await eraseWatched({ STATEMENTS: file })).toBe(0)
  expect(await left()).toEqual([])
  const statements = readFileSync(file, 'utf8').trim().split('\n')
  const ofKind = Map.groupBy(statements, (statement) => statement.replace(/ \d+$/, ''))
  return [...ofKind.values()].map((some) => some[some.length >> 1]!)
}

/** Before the files are cleaned, which differs. */
const sample = { sqlite: ['vacuum 1'], postgres: ['vacuum full 1'] } as const

for (const database of ['sqlite', 'postgres'] as const)
  test(`wherever it is killed, the next run of the command ends as one that was not — ${database}`, async () => {
    const points = runsAllCases() ? await listKillPoints(database) : sample[database]
    const stillThere = new Set<string>()
    for (const point of points) {
      const { erase, eraseWatched, left, status, fixture } = await startErasure(database)
      expect(await eraseWatched({ KILL_BEFORE: point }), point).toBe(null)
      const isDeleted =
        (await fixture.warehouse.query(`select 1 from visitors where id = '${fixture.visitor}'`))
          .length === 0
      expect((await status()).unfinishedErasures, point).toEqual(isDeleted ? [fixture.visitor] : [])
      if (isDeleted) for (const secret of await left()) stillThere.add(secret)
      const again = await erase()
      expect(again, point).toMatchObject({
        exit: 0,
        document: { project: 'default', dryRun: false, search: { remains: [], unread: [] } },
      })
      expect(await left(), point).toEqual([])
      expect((await status()).unfinishedErasures, point).toEqual([])
    }
    expect(stillThere.size, 'some of the kills left texts in the files').toBeGreaterThan(0)
  }, 600_000)
