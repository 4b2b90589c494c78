/**
 * A warehouse that went back in time, as after a restored backup, sends nothing until a person has
 * said how to go on.
 */
import {
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import pg from 'pg'
import { pino } from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import { pushProject } from '../../src/app/push.ts'
import { resumeRestored } from '../../src/app/send-record.ts'
import { readStatus } from '../../src/maintenance/sql/status-report.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { startTestRedis } from '../jobs/queue-fixtures.ts'
import { configOf, projectConfigOf } from '../mirror/sync/sync-sandbox.ts'
import { usualPolicy } from '../support/budget-policy.ts'
import { dumpPostgres, restorePostgres, restoreSqlite } from '../support/guide-backup.ts'
import { createTestOnOne } from '../support/sampled.ts'
import { startWorkerInProcess, workerConfig } from '../worker/in-process-worker.ts'
import { createOutboxFixture, type OutboxFixture, performedWrites } from './outbox-fixture.ts'

const testOnOne = createTestOnOne()

type Kind = 'sqlite' | 'postgres'

/** As docs/guide.md says it: the file is put in its place, or the dump restored. */
async function backUp(
  kind: Kind,
  { instance, warehouse }: OutboxFixture,
): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'deskmirror-backup-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const copy = join(folder, 'backup')
  if (kind === 'sqlite') {
    const path = instance.url!.slice('sqlite:'.length)
    await warehouse.query(`vacuum into '${copy}'`)
    return async () => {
      await warehouse.close()
      restoreSqlite(path, copy)
    }
  }
  await dumpPostgres(instance.url!, copy)
  return async () => {
    await warehouse.close()
    await restorePostgres(instance.url!, copy)
  }
}

/** SQLite has a file beside it, Postgres the Redis of the queue. */
async function queueUrlFor(kind: Kind): Promise<string> {
  if (kind === 'sqlite') return 'embedded'
  const url = `${await startTestRedis()}/13`
  const redis = new Redis(url)
  await redis.flushdb()
  redis.disconnect()
  return url
}

async function restoreAfterSending(kind: Kind) {
  const fixture = await createOutboxFixture({ database: kind, mirrored: false })
  const queueUrl = await queueUrlFor(kind)
  const { sandbox, conversation, visitor } = fixture
  await fixture.queue(
    ...[0, 1, 2].map((n) => ({
      operation: 'message',
      conversation_id: conversation(n),
      content: `Reply ${n}.`,
      sender_name: 'Ann',
    })),
    { operation: 'note', visitor_id: visitor(0), content: 'Called.' },
  )
  const restore = await backUp(kind, fixture)
  expect(await fixture.push({ queueUrl })).toMatchObject({ settled: { succeeded: 4 } })
  await restore()
  const warehouse = await fixture.instance.open()
  const project = projectConfigOf(sandbox, { verifyAfterMs: 200 })
  const statuses = async () =>
    (await createOutbox(warehouse.projectDb(sandbox.projectId)).list({}, 100)).map(
      ({ status }) => status,
    )
  return {
    ...fixture,
    warehouse,
    project,
    queueUrl,
    statuses,
    config: { ...configOf(fixture.instance.url!, project), queueUrl },
  }
}

for (const kind of ['sqlite', 'postgres'] as const) {
  describe(`after a backup was restored (${kind})`, () => {
    testOnOne(
      kind,
      'push sends nothing of what was queued in it, and status says why',
      async () => {
        const { push, queueUrl, sandbox, warehouse, statuses } = await restoreAfterSending(kind)
        await expect(push({ queueUrl })).rejects.toThrow(
          /nothing is sent .* older than the last write-back that was sent/,
        )
        await expect(push({ queueUrl })).rejects.toThrow(/older than/)
        expect(await statuses()).toEqual(['queued', 'queued', 'queued', 'queued'])
        expect(performedWrites(sandbox)).toHaveLength(4)
        const { held } = await readStatus(
          warehouse.projectDb(sandbox.projectId),
          Date.now(),
          usualPolicy,
        )
        expect(held).toMatchObject({ why: expect.stringMatching(/0 sends of 4/) })
      },
    )

    testOnOne(kind, 'a person makes drafts of it, and what is queued later is sent', async () => {
      const { push, queueUrl, sandbox, warehouse, statuses, visitor, config, project } =
        await restoreAfterSending(kind)
      const by = { by: 'ann', queued: 'draft' } as const
      // As the guide says it: nothing has tried to send since the restore.
      expect(await resumeRestored(config, project, by)).toMatchObject({ drafts: 4 })
      await expect(resumeRestored(config, project, by)).rejects.toThrow(/is not held/)
      expect(await statuses()).toEqual(['draft', 'draft', 'draft', 'draft'])
      await warehouse.query(`insert into writebacks (operation, visitor_id, payload)
        values ('note', '${visitor(1)}', '{"content":"Later."}')`)
      expect(await push({ queueUrl })).toMatchObject({ settled: { succeeded: 1 } })
      expect(await push({ queueUrl })).toMatchObject({ outcome: 'done' })
      expect(performedWrites(sandbox)).toHaveLength(5)
    })

    testOnOne(
      kind,
      'a worker sends nothing, and says so in its log, its metrics and /readyz',
      async () => {
        const { queueUrl, sandbox, instance, project } = await restoreAfterSending(kind)
        const off = { kind: 'off' } as const
        const schedules = {
          incremental: off,
          reconcile: off,
          analytics: off,
          availability: off,
          audit: off,
        }
        const config = workerConfig(
          { ...instance, databaseUrl: instance.url!, queueUrl },
          [{ ...project, schedules }],
          {
            http: { host: '127.0.0.1', port: 0 },
          },
        )
        const worker = await startWorkerInProcess(config)
        await worker.waitFor(({ event }) => event === 'sending.held')
        const answer = await fetch(`${worker.address}/readyz`)
        expect([answer.status, await answer.json()]).toEqual([
          200,
          { ready: true, missing: [], sendingHeld: 1, heldProjects: [project.name] },
        ])
        const metrics = await (await fetch(`${worker.address}/metrics`)).text()
        expect(metrics).toContain(`deskmirror_sending_held{project="${project.name}"} 1`)
        expect(performedWrites(sandbox)).toHaveLength(4)
      },
    )
  })
}

/** The file, or all tables, go; what is opened then begins anew. */
async function beginAnew(kind: Kind, { instance, warehouse }: OutboxFixture): Promise<void> {
  await warehouse.close()
  if (kind === 'sqlite') {
    const path = instance.url!.slice('sqlite:'.length)
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true })
    return
  }
  const client = new pg.Client({ connectionString: instance.url!.split('?')[0] })
  await client.connect()
  const schema = new URL(instance.url!).searchParams.get('schema')
  await client.query(`drop schema ${schema} cascade; create schema ${schema}`)
  await client.end()
}

for (const kind of ['sqlite', 'postgres'] as const)
  testOnOne(
    kind,
    `an empty warehouse in the place of one that has sent sends nothing until a person says so (${kind})`,
    async () => {
      const fixture = await createOutboxFixture({ database: kind, mirrored: false })
      const { queue, push, instance, project, sandbox, visitor } = fixture
      await queue({ operation: 'note', visitor_id: visitor(0), content: 'Called.', ref: 'call-1' })
      expect(await push()).toMatchObject({ settled: { succeeded: 1 } })
      await beginAnew(kind, fixture)
      const warehouse = await instance.open()
      await warehouse.query(`insert into writebacks (operation, visitor_id, payload, ref)
      values ('note', '${visitor(0)}', '{"content":"Called."}', 'call-1')`)
      await expect(push()).rejects.toMatchObject({
        why: expect.stringMatching(
          /has sent nothing yet, but one at the same address has sent write-backs .*\(1 or more\)/,
        ),
        exitCode: 2,
      })
      expect(performedWrites(sandbox)).toHaveLength(1)
      const config = configOf(instance.url!, project)
      expect(await resumeRestored(config, project, { by: 'ann', queued: 'draft' })).toMatchObject({
        drafts: 1,
      })
      await warehouse.query(`insert into writebacks (operation, visitor_id, payload)
      values ('note', '${visitor(1)}', '{"content":"Later."}')`)
      expect(await push()).toMatchObject({ settled: { succeeded: 1 } })
      expect(await push()).toMatchObject({ outcome: 'done' })
      expect(performedWrites(sandbox)).toHaveLength(2)
    },
  )

test('a push while Redis is away says so, and sends nothing', async () => {
  const { queue, push, sandbox, visitor, statuses } = await createOutboxFixture({ mirrored: false })
  await queue({ operation: 'note', visitor_id: visitor(0), content: 'Called.' })
  await expect(push({ queueUrl: 'redis://127.0.0.1:1' })).rejects.toMatchObject({
    what: 'cannot tell whether the warehouse went back in time',
    why: expect.stringContaining(
      'Redis, which knows how many write-backs were sent, does not answer',
    ),
    exitCode: 1,
  })
  expect(performedWrites(sandbox)).toHaveLength(0)
  expect(await statuses()).toEqual(['queued'])
})

test('a warehouse that continues is never taken for a restored one, however many processes send', async () => {
  const { queue, push, visitors, sandbox, conversations } = await createOutboxFixture()
  await queue(
    ...visitors().map((id) => ({ operation: 'note', visitor_id: id, content: 'Called.' })),
    ...conversations().map((id) => ({ operation: 'handled', conversation_id: id, handled: true })),
  )
  const reports = await Promise.all([push(), push(), push()])
  expect(reports.map(({ outcome }) => outcome)).toEqual(['done', 'done', 'done'])
  expect(performedWrites(sandbox)).toHaveLength(24)
})

test('a file of SQLite that has sent, and is restored without the file beside it, sends nothing', async () => {
  const fixture = await createOutboxFixture()
  const { queue, push, instance, visitor, sandbox } = fixture
  const note = { operation: 'note', visitor_id: visitor(0), content: 'Called.' }
  await queue(note)
  await push()
  await queue({ ...note, content: 'Called again.' })
  const restore = await backUp('sqlite', fixture)
  await push()
  await restore()
  rmSync(`${instance.url!.slice('sqlite:'.length)}-sends`)
  await expect(push()).rejects.toThrow(/sends is missing, which knows what was sent/)
  const by = { by: 'ann', queued: 'send' } as const
  await resumeRestored(configOf(instance.url!, fixture.project), fixture.project, by)
  expect(await push()).toMatchObject({ settled: { succeeded: 1 } })
  expect(await push()).toMatchObject({ outcome: 'done' })
  expect(performedWrites(sandbox)).toHaveLength(3)
})

test('what was sent is known by whatever link a file of SQLite is reached', async () => {
  const { queue, push, instance, visitor, sandbox, project } = await createOutboxFixture()
  const path = instance.url!.slice('sqlite:'.length)
  const folder = mkdtempSync(join(tmpdir(), 'deskmirror-links-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  symlinkSync(path, join(folder, 'link.db'))
  symlinkSync('link.db', join(folder, 'second.db'))
  const note = { operation: 'note', visitor_id: visitor(0), content: 'Called.' }
  await queue(note)
  await push()
  await queue({ ...note, content: 'Called again.' })
  const options = {
    signal: new AbortController().signal,
    onProgress: () => {},
    onBudget: () => {},
    despiteFailures: false,
  }
  const log = pino({ level: 'silent' })
  const linked = configOf(`sqlite:${join(folder, 'second.db')}`, project)
  expect(await pushProject(linked, project, { ...options, log })).toMatchObject({ outcome: 'done' })
  expect(performedWrites(sandbox)).toHaveLength(2)
  expect(readdirSync(folder)).toEqual(['link.db', 'second.db'])
})

test('a damaged file beside the warehouse is not taken for an empty one', async () => {
  const { push, queue, warehouse, conversation, instance } = await createOutboxFixture()
  const path = `${instance.url!.slice('sqlite:'.length)}-sends`
  writeFileSync(path, '{"damaged')
  await queue({ operation: 'handled', conversation_id: conversation(0), handled: true })
  await expect(push()).rejects.toThrow(
    /sends, which knows what was sent, cannot be read .*: correct or move it first/,
  )
  expect(readFileSync(path, 'utf8')).toBe('{"damaged')
  rmSync(path)
  mkdirSync(path)
  await expect(push()).rejects.toThrow(/cannot be read \(EISDIR/)
  expect(await warehouse.query("select held_why from sync_sends where project_id <> ''")).toEqual([
    { held_why: expect.stringContaining('EISDIR') },
  ])
  expect(await warehouse.query('select status from writebacks')).toEqual([{ status: 'queued' }])
})

test('the file beside the warehouse has its owner, also after root has sent', async () => {
  const { push, queue, conversation, instance } = await createOutboxFixture()
  const path = instance.url!.slice('sqlite:'.length)
  const owner = process.getuid?.() === 0 ? 65_534 : process.getuid!()
  chownSync(path, owner, -1)
  await queue({ operation: 'handled', conversation_id: conversation(0), handled: true })
  await push()
  expect(statSync(`${path}-sends`).uid).toBe(owner)
})

for (const kind of ['sqlite', 'postgres'] as const)
  testOnOne(
    kind,
    `two replies that are there already hold what is behind them, where nothing else knows of them (${kind})`,
    async () => {
      const { queue, push, conversation, visitor, sandbox, project, instance } =
        await createOutboxFixture({
          database: kind,
        })
      const reply = (n: number) =>
        ({
          operation: 'message',
          conversation_id: conversation(n),
          content: 'Found.',
          sender_name: 'Ann',
        }) as const
      const note = { operation: 'note', visitor_id: visitor(0), content: 'Called.' }
      await queue(reply(0))
      sandbox.mutate.agentReplies(conversation(0), 'Found.', 'Ann')
      await push()
      expect(await push()).toMatchObject({ outcome: 'done' })
      await queue(reply(1), reply(2))
      for (const n of [1, 2]) sandbox.mutate.agentReplies(conversation(n), 'Found.', 'Ann')
      await push().catch(() => {})
      await queue(reply(3), note)
      sandbox.mutate.agentReplies(conversation(3), 'Found.', 'Ann')
      await expect(push()).rejects.toThrow(
        /replies were in their conversations already, as after a restored backup/,
      )
      expect(performedWrites(sandbox)).toHaveLength(0)
      await resumeRestored(configOf(instance.url!, project), project, { by: 'ann', queued: 'send' })
      await push()
      expect(await push()).toMatchObject({ outcome: 'done' })
      expect(performedWrites(sandbox)).toHaveLength(1)
    },
  )
