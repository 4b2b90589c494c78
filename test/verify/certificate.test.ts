/** Certificates of a mirror, and what changed since one, on both databases. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import { certifyProject, compareWithCertificate } from '../../src/app/certificate.ts'
import { toCanonicalJson } from '../../src/core/canonical-json.ts'
import type { Certificate } from '../../src/core/certificate.ts'
import { stringifyJson } from '../../src/core/json.ts'
import type { Json } from '../../src/core/row.ts'
import { digestOfStreams } from '../../src/core/row-digests.ts'
import { type StreamName, streamNames } from '../../src/core/stream-specs.ts'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import { openCertificateFiles } from '../../src/verify/certificate-files.ts'
import { readDigests } from '../../src/verify/read-digests.ts'
import type { Warehouse } from '../../src/warehouse/open.ts'
import { openWorld } from '../export/export-world.ts'
import { sqliteAndPostgres } from '../support/databases.ts'
import { createTempFolder } from '../support/temp-folder.ts'
import { configOf, projectConfigOf } from '../sync/sync-sandbox.ts'
import { type SandboxContext, withSandbox } from '../sync/with-sandbox.ts'
import { commit, message } from '../warehouse/row-fixtures.ts'

const lists = { conversations: 12, visitors: 8, calls: 4, days: 3 }
const size = { ...lists, messagesPerConversation: [1, 4], activityPerVisitor: [0, 3] } as const
const world = { seed: 7, size, now: '2026-03-04T12:00:00Z' } as const

/** The certificate of the mirror in a folder, and comparisons with it. */
function certificates({ sandbox, url }: Pick<SandboxContext, 'sandbox' | 'url'>) {
  const folder = createTempFolder(onTestFinished)
  const project = projectConfigOf(sandbox)
  const config = configOf(url, project)
  const signal = new AbortController().signal
  const file = join(folder, 'shop')
  const now = Date.now
  const certify = async (over: { overwrite?: boolean; sampleSize?: number; streams?: readonly StreamName[] } = {}) => {
    const options = {
      file,
      overwrite: false,
      streams: streamNames,
      limit: 10,
      signal,
      now,
      software: 'deskmirror 1.2.3',
    }
    const shown = { onProgress: () => {}, log: pino({ level: 'silent' }) }
    const report = await certifyProject(config, project, { ...options, ...shown, ...over })
    return { report, certificate: JSON.parse(readFileSync(`${file}.json`, 'utf8')) as Certificate }
  }
  const compare = (projectId = project.projectId, streams?: readonly StreamName[]) =>
    compareWithCertificate(config, { ...project, projectId }, { file, streams, signal, now })
  return { folder, file, certify, compare }
}

/** The digests as anyone can make them from the rows of the service: one line for each row, in the order of the keys. */
function expectedMessageDays(sandbox: Sandbox) {
  const rows = [...sandbox.truth('messages')].map(({ parentId, row }) => {
    const { id, createdAt } = row as { readonly id: number; readonly createdAt: string }
    const json = toCanonicalJson(stringifyJson(row as Json))
    return { conversation: parentId!, id, day: createdAt.slice(0, 10), line: `["${parentId}","${id}"] ${json}\n` }
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
  const certificate = JSON.parse(text) as Certificate
  const streams = certificate.streams.map((stream) => ({ ...stream, rows: stream.rows + 1 }))
  const head = `deskmirror-certificate 1 ${certificate.project.id}`
  return JSON.stringify({ ...certificate, streams, digest: digestOfStreams(head, streams) })
}

const streamOf = (certificate: Certificate, name: StreamName) =>
  certificate.streams.find(({ stream }) => stream === name)!

describe('a certificate', () => {
  const title =
    'has the digests that follow from the rows of the service, states what was compared, and opens as a page'
  test.for(sqliteAndPostgres)(`${title} — $name`, async (db) => {
    await withSandbox({ ...world, db }, async (context) => {
      await context.sync()
      const { certify, file } = certificates(context)
      const { certificate, report } = await certify()
      expect(streamOf(certificate, 'messages').days).toEqual(expectedMessageDays(context.sandbox))
      expect(streamOf(certificate, 'visitors').days).toMatchObject([{ day: null, rows: 8 }])
      expect(certificate).toMatchObject({
        format: 'deskmirror-certificate',
        version: 1,
        software: 'deskmirror 1.2.3',
        project: { id: context.sandbox.projectId, name: 'shop' },
        service: context.sandbox.baseUrl,
        comparison: { sample: null, differences: [], truncated: false },
        digest: report.certificate.digest,
      })
      const compared = certificate.comparison.streams.filter(({ notCompared }) => notCompared === null)
      expect(compared.map(({ stream }) => stream)).toEqual(streamNames.filter((name) => name !== 'availability'))
      const limits = certificate.limits.map(({ stream, what }) => `${stream}: ${what}`)
      expect(limits).toContain('visitors: internal notes')
      expect(limits).toContain('availability: whether its rows are those of the service')
      const text = readFileSync(`${file}.json`, 'utf8')
      expect(text).not.toContain(context.sandbox.key)
      const page = readFileSync(`${file}.html`, 'utf8')
      expect(report.certificate.sha256).toBe(createHash('sha256').update(text).digest('hex'))
      expect(page).toContain(report.certificate.sha256)
      expect(page).toContain(certificate.digest)
      expect(page).toContain('What cannot be proven')
      expect(page).not.toMatch(/<script|https?:\/\//)
    })
  })

  test('is unchanged by what is only bookkeeping, and names the day of one changed character', async () => {
    await withSandbox(world, async (context) => {
      const { sandbox, warehouse, sync } = context
      await sync()
      const { certify, compare } = certificates(context)
      await certify()
      await sync({ mode: 'full' })
      const changes = async () =>
        // Each sync adds a snapshot.
        (await compare()).streams.flatMap(({ stream, days }) => (stream === 'availability' ? [] : days))
      expect(await changes()).toEqual([])
      const { parentId, id, row } = [...sandbox.truth('messages')][0]!
      await corruptMessage(warehouse, parentId!, id!, `${(row as { content: string }).content}.`)
      const changed = {
        stream: 'messages',
        state: 'changed',
        day: (row as { createdAt: string }).createdAt.slice(0, 10),
      }
      expect(await changes()).toMatchObject([changed])
    })
  })

  test('shows more rows, and fewer', async () => {
    await withSandbox(world, async (context) => {
      const { sandbox, sync } = context
      await sync()
      const { certify, compare } = certificates(context)
      await certify()
      sandbox.mutate.addConversation()
      sandbox.mutate.deleteVisitor([...sandbox.truth('visitors')][0]!.id!)
      await sync({ mode: 'reconcile' })
      const { streams } = await compare()
      const states = (name: StreamName) =>
        streams.find(({ stream }) => stream === name)!.days.map(({ state, before, now }) => [state, now - before])
      expect(states('conversations')).toEqual([['more', 1]])
      expect(states('visitors')).toEqual([['fewer', -1]])
    })
  })
})

test('the digests are the same on both databases, whatever the texts are, and in whatever order the rows came', async () => {
  const { signal } = new AbortController()
  const streams = ['conversations', 'messages', 'visitors'] as const
  const digestsOf = async (db: (typeof sqliteAndPostgres)[number], reversed: boolean) => {
    const { warehouse } = await openWorld(db)
    const rows = [1, 2, 3, 4].map((n) => message('c3', n, { content: `${n}` }))
    await warehouse.mirror('main').commit(commit('messages', reversed ? rows.toReversed() : rows))
    return warehouse.withSnapshot((snapshot) => readDigests({ snapshot, projectId: 'main', streams, signal }))
  }
  const [sqlite, postgres] = [
    await digestsOf(sqliteAndPostgres[0]!, false),
    await digestsOf(sqliteAndPostgres[1]!, true),
  ]
  expect(postgres).toEqual(sqlite)
  expect(sqlite.map(({ rows }) => rows)).toEqual([2, 24, 2])
})

test('a statement that was changed by hand has another SHA-256 than the one that was printed', async () => {
  await withSandbox(world, async (context) => {
    await context.sync({ streams: ['conversations'] })
    const { certify, compare, file } = certificates(context)
    const { report } = await certify({ streams: ['conversations'] })
    expect((await compare()).certificate.sha256).toBe(report.certificate.sha256)
    const text = readFileSync(`${file}.json`, 'utf8')
    writeFileSync(`${file}.json`, text.replace('"requests": ', '"requests": 9'))
    const { digest, sha256 } = (await compare()).certificate
    expect(digest).toBe(report.certificate.digest)
    expect(sha256).not.toBe(report.certificate.sha256)
  })
})

test('a gap that is not listed for want of space is counted', async () => {
  await withSandbox(world, async (context) => {
    await context.sync({ streams: ['conversations', 'calls'] })
    const numbers = `with recursive number(n) as (select 1 union all select n + 1 from number where n < 1001)`
    await context.warehouse.query(`${numbers} insert into sync_gaps (project_id, id, stream, subject, reason, found_at)
      select '${context.sandbox.projectId}', printf('%05d', n), case when n = 1001 then 'calls' else 'conversations' end, n,
        'unreadable', '2026-01-01T00:00:00Z' from number`)
    const { certificate } = await certificates(context).certify({ streams: ['conversations', 'calls'] })
    expect(certificate.streams.map(({ stream, openGaps }) => [stream, openGaps])).toEqual([
      ['conversations', 1000],
      ['calls', 1],
    ])
    expect(certificate.limits).toContainEqual({
      ...{ stream: 'calls', what: 'that nothing is missing' },
      why: '1 gap known and open, 0 of them listed in this certificate',
    })
  })
})

test('a row of the mirror that differs from the service is in the certificate, and a missing one', async () => {
  await withSandbox(world, async (context) => {
    const { sandbox, warehouse, sync } = context
    await sync()
    const { parentId, id } = [...sandbox.truth('messages')][0]!
    await corruptMessage(warehouse, parentId!, id!, 'never written')
    const { certificate } = await certificates(context).certify({ streams: ['conversations', 'messages'] })
    expect(certificate.comparison.differences).toEqual([
      { stream: 'messages', key: `${parentId}/${id}`, kind: 'different', fields: ['content'] },
    ])
    expect(certificate.comparison.streams.find(({ stream }) => stream === 'messages')).toMatchObject({ differing: 1 })
    expect(certificate.streams.map(({ stream }) => stream)).toEqual(['conversations', 'messages'])
  })
})

test('a sample compares rows of the mirror with their children, and says that the others were not', async () => {
  await withSandbox(world, async (context) => {
    const { sandbox, sync } = context
    await sync()
    sandbox.mutate.editMessage([...sandbox.truth('conversations')][0]!.id!, 0, 'Something else.')
    const { certificate } = await certificates(context).certify({ sampleSize: 12 })
    const compared = certificate.comparison.streams.map(({ stream, compared, differing }) => [
      stream,
      compared,
      differing,
    ])
    expect(compared).toEqual([
      ['conversations', 12, 0],
      ['messages', [...sandbox.truth('messages')].length, 1],
      ['visitors', 8, 0],
      ['visitor_activity', [...sandbox.truth('visitor_activity')].length, 0],
      ['calls', 0, 0],
      ['call_recordings', 0, 0],
      ['analytics', 0, 0],
      ['availability', 0, 0],
    ])
    expect(certificate.limits).toContainEqual(
      expect.objectContaining({ stream: 'calls', why: 'not compared: a sample has none of it' }),
    )
    expect(certificate.limits).toContainEqual(expect.objectContaining({ what: 'rows that were not drawn' }))
  })
})

describe('a file is refused', () => {
  test.for([
    ['of another project', (text: string) => text, 'another', /is of the project .+ not of another/],
    ['of an unknown version', (text: string) => text.replace('"version": 1', '"version": 2'), undefined, /version 2/],
    ['that is no certificate', () => '{"projects":[]}', undefined, /is not a certificate of deskmirror/],
    ['that is no JSON', (text: string) => text.slice(1), undefined, /is not a certificate of deskmirror/],
    [
      'whose counts were changed',
      (text: string) => text.replace(/"rows": 12/g, '"rows": 13'),
      undefined,
      /changed or damaged/,
    ],
    ['whose days have other counts than its streams', withOtherCount, undefined, /changed or damaged/],
  ] as const)('%s', async ([, change, projectId, why]) => {
    await withSandbox(world, async (context) => {
      await context.sync({ streams: ['conversations'] })
      const { certify, compare, file } = certificates(context)
      await certify({ streams: ['conversations'] })
      const text = readFileSync(`${file}.json`, 'utf8')
      writeFileSync(`${file}.json`, change(text))
      await expect(compare(projectId)).rejects.toMatchObject({ why: expect.stringMatching(why), exitCode: 2 })
    })
  })
})

test('a stream that the certificate does not count is not called unchanged', async () => {
  await withSandbox(world, async (context) => {
    await context.sync({ streams: ['conversations'] })
    const { certify, compare } = certificates(context)
    await certify({ streams: ['conversations'] })
    await expect(compare(undefined, ['calls'])).rejects.toMatchObject({ why: 'it does not count calls', exitCode: 2 })
  })
})

test.for(['folder/', '.json', ''])('%j names no file', async (name) => {
  const path = name === '' ? '' : join(createTempFolder(onTestFinished), name)
  await expect(openCertificateFiles(path, { overwrite: true })).rejects.toMatchObject({
    why: 'it names no file',
    exitCode: 2,
  })
})

test('a sample of streams from which nothing is drawn is refused', async () => {
  await withSandbox(world, async (context) => {
    await context.sync({ streams: ['calls'] })
    const { certify } = certificates(context)
    await expect(certify({ streams: ['calls'], sampleSize: 5 })).rejects.toMatchObject({
      what: 'cannot compare a sample',
      exitCode: 2,
    })
  })
})

test('files that exist are kept unless they may be overwritten, and nothing else stays beside them', async () => {
  await withSandbox(world, async (context) => {
    await context.sync({ streams: ['conversations'] })
    const { certify, folder } = certificates(context)
    await certify({ streams: ['conversations'] })
    await expect(certify({ streams: ['conversations'] })).rejects.toMatchObject({ why: 'the file exists', exitCode: 2 })
    await certify({ streams: ['conversations'], overwrite: true })
    expect(readdirSync(folder).toSorted()).toEqual(['shop.html', 'shop.json'])
  })
})

test('a process that is killed while it writes leaves the old files', async () => {
  const folder = createTempFolder(onTestFinished)
  writeFileSync(join(folder, 'shop.json'), 'old')
  writeFileSync(join(folder, 'shop.html'), 'old')
  const script = `
    import { openCertificateFiles } from ${JSON.stringify(new URL('../../src/verify/certificate-files.ts', import.meta.url).href)}
    const files = await openCertificateFiles('shop', { overwrite: true })
    // The first text is in its file before the second one is made.
    await files.write({ toJSON: () => ({}), get project() { process.kill(process.pid, 'SIGKILL') } })`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { cwd: folder, stdio: 'ignore' })
  const [, signal] = await once(child, 'exit')
  expect(signal).toBe('SIGKILL')
  expect(['shop.json', 'shop.html'].map((name) => readFileSync(join(folder, name), 'utf8'))).toEqual(['old', 'old'])
  expect(existsSync(join(folder, 'shop.json'))).toBe(true)
})

/** As a fault of ours, or a person with access to the database would do it. */
async function corruptMessage(warehouse: Warehouse, conversation: string, id: string, content: string) {
  const text = JSON.stringify(content).replaceAll("'", "''")
  const raw =
    warehouse.kind === 'sqlite'
      ? `json_set(raw, '$.content', json('${text}'))`
      : `jsonb_set(raw, '{content}', '${text}'::jsonb)`
  await warehouse.query(
    `update messages set raw = ${raw}, content = '${content.replaceAll("'", "''")}' where conversation_id = '${conversation}' and id = ${id}`,
  )
}
