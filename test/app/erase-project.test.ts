/** A project that is erased is nowhere in the warehouse, and of the others not a byte changes. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import type { DatabaseKind } from '../../schema/column-types.ts'
import { streamNames } from '../../schema/stream-specs.ts'
import { storedTables } from '../../schema/tables.ts'
import { type EraseProjectOptions, eraseWholeProject } from '../../src/app/erase.ts'
import type { LakeManifest } from '../../src/export/lake/manifest.ts'
import { writeLake } from '../../src/export/lake/write-lake.ts'
import { withSnapshot } from '../../src/export/sql/snapshot.ts'
import { writeMarks } from '../../src/maintenance/sql/move-marks.ts'
import { acquireStreamLocks } from '../../src/mirror/sql/stream-locks.ts'
import { currentOwner } from '../../src/outbox/sql/claimable.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { runInProcess } from '../cli/run-in-process.ts'
import { runDeskmirror } from '../cli/run-process.ts'
import {
  configOf,
  findDifferences,
  projectConfigOf,
  syncOnce,
} from '../mirror/sync/sync-sandbox.ts'
import { createOutboxFixture } from '../outbox/outbox-fixture.ts'
import { startPrivateRedis } from '../support/redis-server.ts'
import { createTestOnOne, sampled } from '../support/sampled.ts'
import { fillWarehouse, log } from './move-fixture.ts'

const testOnOne = createTestOnOne('postgres')
const kinds = ['sqlite', 'postgres'] as const

/** Those with a project, whoever added them. */
const ofProjects = storedTables.filter(([, { columns }]) => 'project_id' in columns)

type Fixture = Awaited<ReturnType<typeof createOutboxFixture>>

async function mirrorFew(database: DatabaseKind) {
  const size = { conversations: 4, visitors: 3, calls: 0, activityPerVisitor: 0, days: 1 }
  const fixture = await createOutboxFixture({ database, size })
  const [visitor] = fixture.visitors()
  await fixture.queue({ operation: 'note', visitor_id: visitor, content: 'Called.' })
  return fixture
}

function eraser({ sandbox, instance }: Pick<Fixture, 'sandbox' | 'instance'>, queueUrl: string) {
  return (over: Partial<EraseProjectOptions> & { readonly projects?: 'configured' } = {}) => {
    const config = configOf(instance.url!, projectConfigOf(sandbox))
    const projects = over.projects === 'configured' ? config.projects : []
    const { signal } = new AbortController()
    return eraseWholeProject(
      { ...config, queueUrl, projects },
      {
        named: sandbox.projectId,
        dryRun: false,
        by: 'ann',
        log,
        signal,
        onProgress: () => {},
        ...over,
      },
    )
  }
}

const emptyValues: Readonly<Record<string, string>> = {
  integer: '1',
  int32: '1',
  number: '1',
  boolean: 'false',
  json: `'{}'`,
  date: `'2026-01-01'`,
  local_date: `'2026-01-01'`,
  time: `'2026-01-01T00:00:00Z'`,
  utc_time: `'2026-01-01T00:00:00Z'`,
  uuid: `'00000000-0000-4000-8000-000000000000'`,
}

/** A row in each table that has none of the project. */
async function fillEveryTable({ warehouse }: Fixture, project: string) {
  for (const [table, { columns }] of ofProjects) {
    const own = `from ${table} where project_id = '${project}'`
    if ((await warehouse.query(`select 1 ${own} limit 1`)).length > 0) continue
    if (table === 'writebacks') {
      await warehouse.query(`insert into writebacks (project_id, operation, visitor_id, payload)
        select '${project}', 'note', id, '{"content":"Called."}' from visitors
        where project_id = '${project}' limit 1`)
      continue
    }
    const values = Object.entries(columns).map(([name, [type]]) => {
      if (name === 'project_id') return `'${project}'`
      return emptyValues[type.replace('?', '')] ?? `'x ${project}'`
    })
    await warehouse.query(
      `insert into ${table} (${Object.keys(columns).join(', ')}) values (${values.join(', ')})`,
    )
  }
}

/** Of this project, or of all others. */
async function readAll({ warehouse }: Fixture, project: string, is: '=' | '<>' = '=') {
  const found: Record<string, readonly string[]> = {}
  for (const [table] of ofProjects.filter(([name]) => name !== 'sync_moves')) {
    const rows = await warehouse.query(`select * from ${table} where project_id ${is} '${project}'`)
    if (rows.length > 0) found[table] = rows.map((row) => JSON.stringify(row)).sort()
  }
  return found
}

for (const kind of kinds)
  test(`nothing of it is left in any table, its sends are forgotten, and others are as they were — ${kind}`, async () => {
    const fixture = await fillWarehouse(kind)
    const { sandbox, warehouse, instance } = fixture
    const { projectId } = sandbox
    const other = await startSandbox({ seed: 2, size: { conversations: 6, visitors: 3, days: 2 } })
    onTestFinished(() => other.stop())
    await syncOnce(instance.url!, other, { streams: streamNames })
    for (const id of [projectId, other.projectId]) await fillEveryTable(fixture, id)
    await warehouse.query(`update visitors_history set name = 'Zed Kurz'
      where project_id = '${projectId}'`)
    await warehouse.query('create table own_copy as select email from visitors')
    await warehouse.query(
      `create table own_names as select name from visitors_history where project_id = '${projectId}'`,
    )
    const redis = await startPrivateRedis({ durable: false })
    onTestFinished(() => redis.stop())
    const client = new Redis(redis.url)
    onTestFinished(() => client.disconnect())
    const sendsOf = async () => {
      const keys = await client.keys('*:sends:*')
      return keys.filter((key) => key.includes(projectId))
    }
    const [sends] = await warehouse.query(`select token from sync_sends where project_id = ''`)
    await client.set(`deskmirror:sends:${sends!.token}:${projectId}`, 2)
    const folder = mkdtempSync(join(tmpdir(), 'erase-lake-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const exportLake = async (): Promise<LakeManifest> => {
      const { signal } = new AbortController()
      await withSnapshot(warehouse.db, warehouse.pool, (snapshot) =>
        writeLake(
          { folder, objects: ['visitors'], isWhole: false, projectId: null, kept: [] },
          { snapshot, now: () => Date.now() + 600_000, signal, onProgress: () => {} },
        ),
      )
      return JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))
    }
    const lake = await exportLake()
    const erase = eraser(fixture, redis.url)
    const before = await readAll(fixture, projectId)
    const others = await readAll(fixture, projectId, '<>')
    const expected = Object.fromEntries(
      Object.entries(before).flatMap(([table, rows]) =>
        table === 'sync_locks' ? [] : [[table, rows.length]],
      ),
    )
    const dry = await erase({ dryRun: true })
    expect(dry.rows).toEqual(expected)
    expect(dry.open).toMatchObject({ queued: expect.any(Number) })
    expect(await readAll(fixture, projectId)).toEqual(before)
    await warehouse.query(`delete from sync_locks where project_id = '${projectId}'`)
    const claim = `update writebacks set owner = '${currentOwner()}', lease_until = 1e15
      where project_id = '${projectId}' and status = 'queued'`
    await warehouse.query(claim)
    await expect(erase()).rejects.toThrow(/a process is sending/)
    expect(await sendsOf()).toHaveLength(1)
    await warehouse.query(claim.replace(/set owner.*1e15/, 'set owner = null, lease_until = null'))
    const progress: number[] = []
    const report = await erase({ onProgress: ({ left }) => progress.push(left) })
    expect(report).toMatchObject({ isConfigured: false, isRepeated: false, left: {} })
    expect(report.rows).toEqual(expected)
    expect(progress.at(-1)).toBe(0)
    expect(await readAll(fixture, projectId)).toEqual({})
    const { erased_ids: marks, console_events: events, ...rest } = await readAll(fixture, '', '<>')
    const { erased_ids: marksBefore, console_events: eventsBefore, ...restBefore } = others
    const isOfOthers = (row: string) => JSON.parse(row).project_id !== ''
    for (const [table, rows] of Object.entries(restBefore)) {
      const left = rows.filter(isOfOthers)
      expect(rest[table] ?? [], table).toEqual(left)
    }
    expect([marks, events]).toEqual([marksBefore, eventsBefore?.filter(isOfOthers)])
    expect(
      await warehouse.query(`select project_id, action, subject, person from console_events
      where action = 'project_erased'`),
    ).toEqual([{ project_id: '', action: 'project_erased', subject: projectId, person: 'ann' }])
    expect(report.search?.remains.map(({ place }) => place)).toEqual([
      'own_copy.email',
      'own_names.name',
    ])
    expect(await sendsOf()).toEqual([])
    if (kind === 'sqlite')
      expect(readFileSync(`${instance.url!.slice('sqlite:'.length)}-sends`, 'utf8')).not.toContain(
        projectId,
      )
    const after = await exportLake()
    expect(after.objects[0]!.rows).toBe(others.visitors!.length)
    for (const { path } of lake.objects[0]!.partitions)
      expect(existsSync(join(folder, path)), path).toBe(false)
    await warehouse.query('drop table own_copy')
    await warehouse.query('drop table own_names')
    const again = await erase()
    expect(again).toMatchObject({ isRepeated: true, rows: {}, search: { remains: [], unread: [] } })
  })

for (const kind of kinds)
  testOnOne(kind, `while others read or send for it, it is refused — ${kind}`, async () => {
    const fixture = await mirrorFew(kind)
    const { warehouse, sandbox } = fixture
    const erase = eraser(fixture, 'embedded')
    const before = await readAll(fixture, sandbox.projectId)
    await expect(erase({ named: crypto.randomUUID() })).rejects.toThrow(/nothing is stored of/)
    const context = warehouse.projectDb(sandbox.projectId)
    const other = { project_id: crypto.randomUUID(), move_id: 'm' }
    await writeMarks(warehouse, [other], { state: 'moved', other: 'sqlite:other.db' })
    const lock = await acquireStreamLocks(context, ['messages'], Date.now())
    await expect(erase()).rejects.toThrow(/has been reading its messages/)
    if (lock.held) await lock.release()
    const queued = `where status = 'queued'`
    await warehouse.query(
      `update writebacks set owner = '${currentOwner()}', lease_until = ${Date.now() + 60_000} ${queued}`,
    )
    await expect(erase()).rejects.toThrow(/a process is sending the write-back/)
    await warehouse.query(`update writebacks set owner = null, lease_until = null ${queued}`)
    const { sync_projects: _, ...after } = await readAll(fixture, sandbox.projectId)
    expect({ ...after, writebacks: [] }).toEqual({ ...before, writebacks: [] })
    const stopped = 'select 1 from sync_projects where sending_stopped_at is not null'
    expect(await warehouse.query(stopped)).toEqual([])
    const stop = new AbortController()
    await expect(erase({ signal: stop.signal, onProgress: () => stop.abort() })).rejects.toThrow(
      /erased in part/,
    )
    const otherCase = { named: sandbox.projectId.toUpperCase() }
    await expect(erase(otherCase)).rejects.toThrow(/nothing is stored of/)
    expect(await erase()).toMatchObject({ isRepeated: true, left: {} })
  })

for (const kind of kinds)
  testOnOne(
    kind,
    `one that is still configured keeps what guards its next sync — ${kind}`,
    async () => {
      const fixture = await mirrorFew(kind)
      const { warehouse, sandbox } = fixture
      await fixture.push()
      await warehouse.query(
        `insert into erased_ids (project_id, id) values ('${sandbox.projectId}', 'someone')`,
      )
      const own = { project_id: sandbox.projectId, move_id: 'm' }
      const whole = { project_id: '', move_id: 'n' }
      await writeMarks(warehouse, [own, whole], { state: 'arrived', other: 'sqlite:former.db' })
      const report = await eraser(fixture, 'embedded')({ projects: 'configured' })
      expect(report).toMatchObject({ isConfigured: true, left: {} })
      const copies = report.search?.elsewhere.filter((place) => place.includes('former.db'))
      expect(copies).toEqual(['sqlite:former.db, to or from which it moved, may have it as well'])
      expect(Object.keys(await readAll(fixture, sandbox.projectId)).sort()).toEqual([
        'erased_ids',
        'sync_sends',
      ])
      expect(await syncOnce(fixture.instance.url!, sandbox)).toMatchObject({ outcome: 'complete' })
    },
  )

for (const kind of kinds)
  testOnOne(kind, `killed in between, the same command ends it — ${kind}`, async () => {
    const fixture = await mirrorFew(kind)
    const { sandbox, instance, warehouse } = fixture
    const cwd = mkdtempSync(join(tmpdir(), 'erase-kill-'))
    onTestFinished(() => rmSync(cwd, { recursive: true }))
    const env = {
      DESKMIRROR_BASE_URL: sandbox.baseUrl,
      DESKMIRROR_PROJECT_ID: sandbox.projectId,
      DESKMIRROR_API_KEY: sandbox.key,
      DESKMIRROR_DATABASE_URL: instance.url!,
    }
    const command = ['erase', '--project', 'default', '--yes', '--json']
    const preload = new URL('./kill-before-statement.ts', import.meta.url).href
    const killed = { ...env, NODE_OPTIONS: `--import=${preload}`, KILL_BEFORE: 'delete from 8' }
    const rowsOf = async (table: string) =>
      (await warehouse.query(`select 1 as one from ${table}`)).length
    const before = [await rowsOf('conversations'), await rowsOf('message_rows')]
    await warehouse.query('delete from message_rows')
    await warehouse.query(`update sync_children set read_version = 0, due_at = 1, checked_at = null,
        full_read_at = null, listed_rows = null`)
    expect((await runDeskmirror(command, { cwd, env: killed })).exit).toBe(null)
    expect([await rowsOf('conversations'), await rowsOf('sync_cursors')]).toEqual([before[0], 0])
    // Of what is still there, it is still known what is to be read.
    await syncOnce(instance.url!, sandbox)
    expect([await rowsOf('conversations'), await rowsOf('message_rows')]).toEqual(before)
    const status = await runInProcess(['status'], { cwd, env })
    expect(status.out).toMatch(/unfinished +an erasure; next: deskmirror erase --project default/)
    const ended = await runInProcess(command, { cwd, env })
    expect([ended.exit, JSON.parse(ended.out).left]).toEqual([0, {}])
    expect(await warehouse.query('select 1 from message_rows')).toEqual([])
    const shown = await runInProcess(['erase', '--project', 'default'], { cwd, env })
    expect(shown.out).toMatch(
      /erased before[\s\S]*it is still configured[\s\S]*deskmirror erase --project/,
    )
    const usage = await runInProcess(['erase', '--yes'], { cwd, env })
    expect([usage.exit, usage.err]).toEqual([2, expect.stringContaining('--visitor or --project')])
  })

for (const kind of kinds)
  testOnOne(
    kind,
    `wherever it is stopped, a sync in between misses nothing — ${kind}`,
    async () => {
      const size = { conversations: 4, visitors: 3, calls: 1, activityPerVisitor: 4, days: 1 }
      const fixture = await createOutboxFixture({ database: kind, mirrored: false, size })
      const { sandbox, instance, warehouse } = fixture
      const sync = () => syncOnce(instance.url!, sandbox, { streams: streamNames })
      const countDerived = async () => {
        const { rows } = await eraser(fixture, 'embedded')({ dryRun: true })
        return Object.entries(rows).filter(([table]) => /^(fct|dim|zone|search)_/.test(table))
      }
      await sync()
      const derived = await countDerived()
      const { rows } = await eraser(fixture, 'embedded')({ dryRun: true, projects: 'configured' })
      const points = sampled(Object.keys(rows), (table) =>
        ['visitors', 'fct_conversation'].includes(table),
      )
      expect(points.length).toBeGreaterThan(1)
      for (const point of points) {
        const stop = new AbortController()
        const onProgress = ({ table }: { table: string }) => table === point && stop.abort()
        const options = { projects: 'configured', signal: stop.signal, onProgress } as const
        const erasing = eraser(fixture, 'embedded')(options)
        await expect(erasing, point).rejects.toThrow(/erased in part/)
        // Of many rows, a step erases a part.
        if (point === 'visitors')
          await warehouse.query("delete from visitor_activity where entry_hash > '4'")
        expect(await sync(), point).toMatchObject({ outcome: 'complete' })
        expect(await findDifferences(warehouse, sandbox), point).toEqual([])
        expect(await countDerived(), point).toEqual(derived)
      }
      expect(await eraser(fixture, 'embedded')()).toMatchObject({ isRepeated: true, left: {} })
    },
  )
