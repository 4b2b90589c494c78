/** What `verify --json` says of a mirror, and what changed since, on both databases. */

import { createHash } from 'node:crypto'
import { readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type StreamName, streamNames } from '../../../schema/stream-specs.ts'
import { openMirror } from '../../../src/app/facts.ts'
import type { Warehouse } from '../../../src/app/open.ts'
import {
  compareWithDocument,
  type VerifyDocument,
  verifyWithDigests,
} from '../../../src/app/verify.ts'
import { digestOfMirror } from '../../../src/export/core/day-digests.ts'
import { countMirror } from '../../../src/export/mirror-count.ts'
import { withSnapshot } from '../../../src/export/sql/snapshot.ts'
import type { Sandbox } from '../../../src/sandbox/sandbox.ts'
import { type Json, stringifyJson, toCanonicalJson } from '../../../src/values/json.ts'
import { openWorld } from '../../export/export-world.ts'
import { databases } from '../../support/databases.ts'
import { createTempFolder } from '../../support/temp-folder.ts'
import { commit, message } from '../../warehouse/row-fixtures.ts'
import { configOf, projectConfigOf } from '../sync/sync-sandbox.ts'
import { type SandboxContext, withSandbox } from '../sync/with-sandbox.ts'

const lists = { conversations: 12, visitors: 8, calls: 4, days: 3 }
const size = { ...lists, messagesPerConversation: [1, 4], activityPerVisitor: [0, 3] } as const
const world = { seed: 7, size, now: '2026-03-04T12:00:00Z' } as const

/** Verifies into a file as `verify --json > FILE` does, and compares with it. */
function verifications({ sandbox, url }: Pick<SandboxContext, 'sandbox' | 'url'>) {
  const file = join(createTempFolder(onTestFinished), 'verified.json')
  const project = projectConfigOf(sandbox)
  const config = configOf(url, project)
  const signal = new AbortController().signal
  const now = Date.now
  const verify = async (over: { sampleSize?: number; streams?: readonly StreamName[] } = {}) => {
    const options = { streams: streamNames, limit: 10, signal, now, onProgress: () => {} }
    const document = await verifyWithDigests(config, project, {
      ...options,
      log: pino({ level: 'silent' }),
      ...over,
    })
    writeFileSync(file, JSON.stringify({ projects: [document] }, null, 2))
    return document
  }
  const compare = (projectId = project.projectId, streams?: readonly StreamName[]) =>
    compareWithDocument(config, { ...project, projectId }, { file, streams, signal, now })
  return { file, verify, compare }
}

/**
 * The digests as anyone can make them from the rows of the service: one line for each row, in the
 * order of the keys.
 */
function expectedMessageDays(sandbox: Sandbox) {
  const rows = [...sandbox.truth('messages')].map(({ parentId, row }) => {
    const { id, createdAt } = row as { readonly id: number; readonly createdAt: string }
    const json = toCanonicalJson(stringifyJson(row as Json))
    return {
      conversation: parentId!,
      id,
      day: createdAt.slice(0, 10),
      line: `["${parentId}","${id}"] ${json}\n`,
    }
  })
  const ordered = rows.toSorted((a, b) =>
    a.conversation < b.conversation ? -1 : a.conversation > b.conversation ? 1 : a.id - b.id,
  )
  return [...Map.groupBy(ordered, ({ day }) => day)]
    .map(([day, of]) => {
      const digest = createHash('sha256')
        .update(of.map(({ line }) => line).join(''))
        .digest('hex')
      return { day, rows: of.length, digest }
    })
    .toSorted((a, b) => (a.day < b.day ? -1 : 1))
}

/** As someone would who changes a count and knows how the digests are made. */
function withOtherCount(text: string): string {
  const { projects } = JSON.parse(text) as { projects: VerifyDocument[] }
  const changed = projects.map((project) => {
    const streams = project.mirror.streams.map((stream) => ({ ...stream, rows: stream.rows + 1 }))
    return {
      ...project,
      mirror: { ...project.mirror, streams, digest: digestOfMirror(project.projectId, streams) },
    }
  })
  return JSON.stringify({ projects: changed })
}

const streamOf = ({ mirror }: VerifyDocument, name: StreamName) =>
  mirror.streams.find(({ stream }) => stream === name)!

const title =
  'it has the digests that follow from the rows of the service, what was compared, and what could not be'
test.for(databases)(`${title} — $name`, async (db) => {
  await withSandbox({ ...world, db }, async (context) => {
    await context.sync()
    const { verify } = verifications(context)
    const document = await verify()
    expect(streamOf(document, 'messages').days).toEqual(expectedMessageDays(context.sandbox))
    expect(streamOf(document, 'visitors').days).toMatchObject([{ day: null, rows: 8 }])
    expect(document).toMatchObject({
      project: 'shop',
      projectId: context.sandbox.projectId,
      sample: null,
      differences: [],
      truncated: false,
      notCompared: [{ stream: 'availability', why: 'the service shows only the present state' }],
    })
    const compared = document.streams.map(({ stream }) => stream)
    expect(new Set(compared)).toEqual(
      new Set(streamNames.filter((name) => name !== 'availability')),
    )
    expect(document.mirror.streams.map(({ stream }) => stream)).toEqual(streamNames)
    expect(JSON.stringify(document)).not.toContain(context.sandbox.key)
  })
})

test('nothing has changed by what is only bookkeeping, and one changed character names its day', async () => {
  await withSandbox(world, async (context) => {
    const { sandbox, warehouse, sync } = context
    await sync()
    const { verify, compare } = verifications(context)
    await verify()
    await sync({ mode: 'full' })
    const changes = async () =>
      // Each sync adds a snapshot.
      (await compare()).streams.flatMap(({ stream, days }) =>
        stream === 'availability' ? [] : days,
      )
    expect(await changes()).toEqual([])
    const { parentId, id, row } = [...sandbox.truth('messages')][0]!
    await corruptMessage(warehouse, parentId!, id!, `${(row as { content: string }).content}.`)
    const day = (row as { createdAt: string }).createdAt.slice(0, 10)
    expect(await changes()).toMatchObject([{ stream: 'messages', state: 'changed', day }])
    expect((await verify({ streams: ['messages'] })).differences).toEqual([
      { stream: 'messages', key: `${parentId}/${id}`, kind: 'different', fields: ['content'] },
    ])
  })
})

test('more rows and fewer are different changes, and open gaps and deleted rows are counted', async () => {
  await withSandbox(world, async (context) => {
    const { sandbox, sync, warehouse } = context
    await sync()
    const { verify, compare } = verifications(context)
    await verify()
    sandbox.mutate.addConversation()
    sandbox.mutate.deleteVisitor([...sandbox.truth('visitors')][0]!.id!)
    await sync({ mode: 'reconcile' })
    const { streams } = await compare()
    const states = (name: StreamName) =>
      streams
        .find(({ stream }) => stream === name)!
        .days.map(({ state, before, now }) => [state, now - before])
    expect(states('conversations')).toEqual([['more', 1]])
    expect(states('visitors')).toEqual([['fewer', -1]])
    await warehouse.query(`insert into sync_gaps (project_id, id, stream, dedup_key, reason, found_at, seen_at)
      values ('${sandbox.projectId}', '1', 'visitors', '1', 'unreadable', '2026-01-01T00:00:00Z', 1)`)
    const visitors = streamOf(await verify({ streams: ['visitors'] }), 'visitors')
    expect(visitors).toMatchObject({ rows: 7, deleted: 1, openGaps: 1 })
  })
})

test('the digests are the same on both databases, whatever the texts are, and in whatever order the rows came', async () => {
  const streams = ['conversations', 'messages', 'visitors'] as const
  const digestsOf = async (db: (typeof databases)[number], reversed: boolean) => {
    const { warehouse } = await openWorld(db)
    const rows = [1, 2, 3, 4].map((n) => message('c3', n, { content: `${n}` }))
    await openMirror(warehouse, 'main').commit(
      commit('messages', reversed ? rows.toReversed() : rows),
    )
    const { streams: counted } = await withSnapshot(warehouse.db, warehouse.pool, (snapshot) =>
      countMirror(snapshot, '', { projectId: 'main', streams }),
    )
    return counted
  }
  const [sqlite, postgres] = [
    await digestsOf(databases[0]!, false),
    await digestsOf(databases[1]!, true),
  ]
  expect(postgres).toEqual(sqlite)
  expect(sqlite.map(({ rows }) => rows)).toEqual([2, 24, 2])
})

test('a sample compares rows of the mirror with their children, and says that the others were not', async () => {
  await withSandbox(world, async (context) => {
    const { sandbox, sync } = context
    await sync()
    sandbox.mutate.editMessage([...sandbox.truth('conversations')][0]!.id!, 0, 'Something else.')
    const { verify } = verifications(context)
    const { sample, streams, notCompared } = await verify({ sampleSize: 12 })
    expect(sample).toBe(12)
    expect(streams.map(({ stream, compared, differing }) => [stream, compared, differing])).toEqual(
      [
        ['conversations', 12, 0],
        ['messages', [...sandbox.truth('messages')].length, 1],
        ['visitors', 8, 0],
        ['visitor_activity', [...sandbox.truth('visitor_activity')].length, 0],
      ],
    )
    expect(notCompared.map(({ stream, why }) => `${stream}: ${why}`)).toEqual([
      ...['calls', 'call_recordings', 'analytics'].map(
        (stream) => `${stream}: a sample has none of it`,
      ),
      'availability: the service shows only the present state',
    ])
    await expect(verify({ streams: ['calls'], sampleSize: 5 })).rejects.toMatchObject({
      exitCode: 2,
    })
  })
})

describe('a file is refused', () => {
  test.for([
    [
      'of another project',
      (text: string) => text,
      'another',
      /has the counts of .+, and not of another/,
    ],
    [
      'of a project that failed',
      () => '{"projects":[{"project":"shop","error":{}}]}',
      undefined,
      /has the counts of no/,
    ],
    [
      'that is something else',
      () => '{"format":"deskmirror-certificate"}',
      undefined,
      /is not what `verify --json` pri/,
    ],
    [
      'that is no JSON',
      (text: string) => text.slice(1),
      undefined,
      /is not what `verify --json` prints/,
    ],
    [
      'without counts',
      (text: string) => text.replace('"mirror"', '"other"'),
      undefined,
      /is not what/,
    ],
    [
      'whose counts were changed',
      (text: string) => text.replace(/"rows": 12/g, '"rows": 13'),
      undefined,
      /damaged/,
    ],
    [
      'whose days have other counts than its streams',
      withOtherCount,
      undefined,
      /changed or damaged/,
    ],
  ] as const)('%s', async ([, change, projectId, why]) => {
    await withSandbox(world, async (context) => {
      await context.sync({ streams: ['conversations'] })
      const { verify, compare, file } = verifications(context)
      writeFileSync(
        file,
        change(
          JSON.stringify({ projects: [await verify({ streams: ['conversations'] })] }, null, 2),
        ),
      )
      await expect(compare(projectId)).rejects.toMatchObject({
        why: expect.stringMatching(why),
        exitCode: 2,
      })
    })
  })
})

test('a file that PowerShell wrote is read, and a device is not', async () => {
  await withSandbox(world, async (context) => {
    await context.sync({ streams: ['conversations'] })
    const { verify, compare, file } = verifications(context)
    await verify({ streams: ['conversations'] })
    writeFileSync(file, Buffer.from(`\ufeff${readFileSync(file, 'utf8')}`, 'utf16le'))
    expect((await compare()).streams).toMatchObject([{ stream: 'conversations', days: [] }])
    rmSync(file)
    symlinkSync('/dev/zero', file)
    await expect(compare()).rejects.toMatchObject({ why: 'it is not a regular file', exitCode: 2 })
  })
})

test('a stream that the file does not count is not called unchanged', async () => {
  await withSandbox(world, async (context) => {
    await context.sync({ streams: ['conversations'] })
    const { verify, compare } = verifications(context)
    await verify({ streams: ['conversations'] })
    await expect(compare(undefined, ['calls'])).rejects.toMatchObject({
      why: 'it does not count calls',
      exitCode: 2,
    })
  })
})

/** As a fault of ours, or a person with access to the database would do it. */
async function corruptMessage(
  warehouse: Warehouse,
  conversation: string,
  id: string,
  content: string,
) {
  const text = JSON.stringify(content).replaceAll("'", "''")
  const raw =
    warehouse.kind === 'sqlite'
      ? `json_set(raw, '$.content', json('${text}'))`
      : `jsonb_set(raw, '{content}', '${text}'::jsonb)`
  await warehouse.query(
    `update messages set raw = ${raw}, content = '${content.replaceAll("'", "''")}' where conversation_id = '${conversation}' and id = ${id}`,
  )
}
