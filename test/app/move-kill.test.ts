/** Wherever a move is killed, at most one warehouse is alive, and the same command ends it. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openWarehouse } from '../../src/app/open.ts'
import { runDeskmirror } from '../cli/run-process.ts'
import { performedWrites } from '../outbox/outbox-fixture.ts'
import { runsAllCases } from '../support/sampled.ts'
import { emptyDatabase, fillWarehouse, forgetRequests, programOn } from './move-fixture.ts'

const preload = new URL('./kill-before-statement.ts', import.meta.url).href

async function startMoves() {
  const fixture = await fillWarehouse('sqlite')
  const { sandbox } = fixture
  await fixture.warehouse.close()
  const cwd = mkdtempSync(join(tmpdir(), 'move-kill-'))
  onTestFinished(() => rmSync(cwd, { recursive: true }))
  const program = programOn(fixture)
  let [from, to] = [fixture.instance.url!, await emptyDatabase('postgres')]
  /** Whether it accepts writes, and has rows of the project. */
  const isAlive = async (url: string): Promise<boolean> => {
    try {
      const warehouse = await openWarehouse(url)
      try {
        const { db } = warehouse.projectDb(sandbox.projectId)
        return (await db.selectFrom('message_rows').select('id').limit(1).execute()).length > 0
      } finally {
        await warehouse.close()
      }
    } catch (error) {
      expect(String(error)).toMatch(/has moved to|is still arriving/)
      return false
    }
  }
  return {
    sandbox,
    program,
    cwd,
    direction: () => (from.startsWith('sqlite:') ? 'from sqlite' : 'from postgres'),
    runInProcess: async (env: Readonly<Record<string, string>>) => {
      await forgetRequests(from)
      const variables = {
        DESKMIRROR_BASE_URL: sandbox.baseUrl,
        DESKMIRROR_PROJECT_ID: sandbox.projectId,
        DESKMIRROR_API_KEY: sandbox.key,
        DESKMIRROR_DATABASE_URL: from,
        NODE_OPTIONS: `--import=${preload}`,
      }
      return runDeskmirror(['move', '--to', to, '--json'], { cwd, env: { ...variables, ...env } })
    },
    continue: () => program.move(from, to),
    alive: async () => [await isAlive(from), await isAlive(to)],
    /** The next one goes back. */
    swap: () => {
      const before = from
      from = to
      to = before
    },
    living: () => from,
  }
}

/** The statements of a move in each direction: of each kind the one in the middle. */
async function listKillPoints({ cwd, runInProcess, direction, swap }: Moves) {
  const points: Record<string, readonly string[]> = {}
  // The first one creates what is there in all later ones.
  for (let n = 0; n < 3; n++) {
    const file = join(cwd, `statements ${n}`)
    expect(await runInProcess({ STATEMENTS: file })).toMatchObject({ exit: 0 })
    const statements = readFileSync(file, 'utf8').trim().split('\n')
    const ofKind = Map.groupBy(statements, (statement) => statement.replace(/ \d+$/, ''))
    const middle = [...ofKind.values()].map((some) => some[some.length >> 1]!)
    const marks = statements.filter((statement) => /sync_moves|^commit/.test(statement))
    points[direction()] = [...new Set([...middle, ...marks])]
    swap()
  }
  return points
}

/** In the middle of the copy; after the mark of the source. */
const sample = {
  'from sqlite': ['insert into sync_moves 5'],
  'from postgres': ['insert into sync_moves 7'],
}

type Moves = Awaited<ReturnType<typeof startMoves>>

test('wherever it is killed, the same command ends the move, and nothing is sent twice', async () => {
  const moves = await startMoves()
  const { program, sandbox } = moves
  const points = runsAllCases() ? await listKillPoints(moves) : sample
  await program.push(moves.living())
  const writes = performedWrites(sandbox).length
  const chosen = Object.entries(points).flatMap(([direction, some]) =>
    some.map((point) => ({ direction, point })),
  )
  const seen = new Set<string>()
  const queue = [...chosen]
  let rounds = 0
  while (queue.length > 0) {
    const next = queue.findIndex(({ direction }) => direction === moves.direction())
    if (next < 0) {
      await moves.continue()
      moves.swap()
      continue
    }
    const [{ point } = { point: '' }] = queue.splice(next, 1)
    await program.change(
      moves.living(),
      `insert into writebacks (project_id, operation, conversation_id,
      payload) select project_id, 'message', id, '{"content":"Round ${rounds}.","sender_name":"Ann"}'
      from conversations order by id limit 1`,
    )
    rounds += 1
    const { exit } = await moves.runInProcess({ KILL_BEFORE: point })
    // Another kill may have shortened this one.
    if (exit === null) {
      const alive = await moves.alive()
      expect(alive, point).not.toEqual([true, true])
      seen.add(String(alive))
    }
    expect(await moves.continue(), point).toMatchObject({ outcome: 'moved' })
    expect(await moves.alive(), point).toEqual([false, true])
    moves.swap()
    expect(
      (await program.verify(moves.living())).differences.filter(
        ({ stream }) => stream !== 'analytics',
      ),
      point,
    ).toEqual([])
    await program.push(moves.living())
    expect(performedWrites(sandbox), point).toHaveLength(writes + rounds)
  }
  expect([...seen].sort()).toEqual(expect.arrayContaining(['false,false', 'true,false']))
}, 1_800_000)
