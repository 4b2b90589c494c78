/**
 * Decisions over HTTP: by whom, about what was seen, and what they leave behind. Real requests over
 * loopback.
 */

import { describe, expect, test } from 'vitest'
import { openMirror } from '../../../src/app/facts.ts'
import { createOutbox } from '../../../src/outbox/sql/outbox.ts'
import { toTimestamp } from '../../../src/values/time.ts'
import { createAuditLog } from '../../../src/warehouse/audit-log.ts'
import { commit, message } from '../../warehouse/row-fixtures.ts'
import { flagOn, queueDrafts, replyTo } from '../queued-rows.ts'
import { formBody, ownForm, startConsole, useConsole } from './console-server.ts'
import { csv, fillTargets, importFile, targets } from './import-file.ts'

const console = useConsole(fillTargets)

const flag = () => flagOn(targets[57] ?? '')

let imports = 0
/** A draft batch of so many replies, each to a conversation of its own. */
async function draftBatch(rows: number, at = console): Promise<string> {
  imports += 1
  const { location } = await importFile(
    at,
    `replies${imports}.csv`,
    csv(targets.slice(0, rows), `Answer ${imports}.`),
  )
  return location.split('/').at(-1) ?? ''
}

async function decide(
  person: string,
  fields: Record<string, string | readonly string[]>,
  at = console,
) {
  const body = new URLSearchParams()
  for (const [name, values] of Object.entries(fields))
    for (const value of [values].flat()) body.append(name, value)
  const headers = { cookie: await at.signIn(person), ...ownForm }
  return at.ask('/console/p/main/decide', { method: 'POST', headers, body: body.toString() })
}

/** As a person does: looks at the page before the decision, and sends its form. */
async function confirm(person: string, query: string, over: Record<string, string> = {}) {
  const { text } = await console.get(`confirm?${query}`, person)
  const fields = Object.fromEntries(
    [...text.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [
      name,
      value ?? '',
    ]),
  )
  const ids = [...text.matchAll(/type="hidden" name="id" value="([^"]*)"/g)].map(
    ([, id]) => id ?? '',
  )
  return {
    text,
    send: () => decide(person, { ...fields, ...(ids.length === 0 ? {} : { id: ids }), ...over }),
  }
}

const page = async (path: string, person = 'ann') => (await console.get(path.slice(1), person)).text
const admin = () => createOutbox(console.warehouse.projectDb('main'))
const countsOf = async (batch: string) => (await admin().findBatch(batch))?.counts
const lastEvents = async (count: number) =>
  (await createAuditLog(console.warehouse.db).list(null, 30))
    .filter(({ action }) => action !== 'signed_in')
    .slice(0, count)
    .map(({ person, action, subject, count: rows }) => [person, action, subject, rows])

describe('the page before an approval', () => {
  test('says what the rows would do, leads through all of them, and shows one kind of them alone', async () => {
    const batch = 'mixed'
    const replies = targets.slice(0, 52).map((target) => replyTo(target, 'It is here.'))
    const expecting = replies.map((reply) => ({ ...reply, expect: '1' }))
    await queueDrafts(console.warehouse, batch, [...expecting, flag()])
    const rowsOf = (text: string) => [...text.matchAll(/data-label="What is sent"/g)].length
    const linkOf = (text: string, label: string) =>
      new RegExp(`href="/console/p/main(/confirm[^"]*)"[^>]*>${label}`)
        .exec(text)?.[1]
        ?.replaceAll('&amp;', '&') ?? ''
    const first = await page(`/confirm?decision=approve&batch=${batch}`)
    expect(first).toContain('will be sent: 52 replies')
    expect(rowsOf(first)).toBe(25)
    // Each row has its condition once.
    expect(first.match(/only if no visitor wrote after/g)?.length).toBe(25)
    const second = await page(linkOf(first, 'Next rows'))
    expect(rowsOf(second)).toBe(25)
    expect(rowsOf(await page(linkOf(second, 'Next rows')))).toBe(3)
    const flags = await page(linkOf(first, '1 flag'))
    expect(rowsOf(flags)).toBe(1)
    // It is about all of them, whatever is shown.
    expect(flags).toContain('Approve 53 write-backs')
    expect(flags).toContain('Write the number of write-backs, 53 (52 replies and 1 flag)')
    // Nobody is led to a button that would refuse them.
    const refused = await page(`/confirm?decision=approve&batch=${batch}`, 'olga')
    expect(refused).toContain('This needs the role approver.')
    expect(refused).not.toContain('Approve 53')
    expect(await page(`/batches/${batch}`)).toContain('52 replies and 1 flag, queued')
    expect(/name="digest" value="(\w+)"/.exec(flags)?.[1]).toBe(
      /name="digest" value="(\w+)"/.exec(first)?.[1],
    )
  })
})

describe('a batch', () => {
  test('is imported, approved as it was seen, taken back within the grace, approved, stopped, resumed and cancelled', async () => {
    const batch = await draftBatch(3)
    expect(await countsOf(batch)).toEqual({ draft: 3 })
    expect(await page(`/batches/${batch}`, 'olga')).not.toContain('Approve…')
    expect(await page(`/batches/${batch}`, 'olga')).toContain(
      'It takes the role approver to approve it: <bdi>ann</bdi>. You are signed in as operator.',
    )
    const approval = await confirm('ann', `decision=approve&batch=${batch}`)
    expect(approval.text).toMatch(
      /3 replies go to customers<\/b> and cannot be taken back[\s\S]*until then you can undo it/,
    )
    const approved = await approval.send()
    expect([approved.status, approved.headers.location]).toEqual([
      303,
      `/console/p/main/batches/${batch}`,
    ])
    expect(await countsOf(batch)).toEqual({ queued: 3 })
    const inGrace = await page(`/batches/${batch}`)
    expect(inGrace).toContain('Undo the approval')
    expect(inGrace).toMatch(/icons\.svg#clock"><\/use><\/svg> queued/)
    expect(inGrace).not.toContain('being sent')
    await decide('ann', { decision: 'undo', batch })
    expect(await countsOf(batch)).toEqual({ draft: 3 })
    await (await confirm('ann', `decision=approve&batch=${batch}`)).send()
    await decide('ann', { decision: 'stop', batch })
    const again = await decide('ann', { decision: 'stop', batch })
    expect([again.status, again.text.includes('was stopped by ann')]).toEqual([409, true])
    expect(await page(`/batches/${batch}`)).toMatch(
      /Stopped<\/b>[\s\S]*by <bdi>ann[^:]*: nothing of it is sent unless/,
    )
    await (await confirm('ann', `decision=resume&batch=${batch}`)).send()
    expect(await countsOf(batch)).toEqual({ queued: 3 })
    const cancelling = await confirm('ann', `decision=cancel&batch=${batch}`)
    expect(cancelling.text).toContain('Rows may leave before that')
    expect((await cancelling.send()).status).toBe(303)
    expect(await countsOf(batch)).toEqual({ cancelled: 3 })
    expect(await lastEvents(8)).toEqual([
      ['ann', 'cancelled', batch, 3],
      ['ann', 'resumed', batch, 3],
      ['ann', 'stopped', batch, 3],
      ['ann', 'approved', batch, 3],
      ['ann', 'approval_undone', batch, 3],
      ['ann', 'approved', batch, 3],
      ['olga', 'imported_drafts', batch, 3],
    ])
  })

  test('that has changed since it was seen is not approved, and the answer says what differs', async () => {
    const batch = await draftBatch(2)
    const approval = await confirm('ann', `decision=approve&batch=${batch}`)
    const [first] = await admin().list({ batch }, 1)
    await console.warehouse.query(`update writebacks set source_row = 77 where id = '${first?.id}'`)
    await admin().decide('cancelled', { ids: [first?.id ?? ''] }, { by: 'bea' })
    const { status, text } = await approval.send()
    expect(status).toBe(409)
    expect(text).toMatch(
      /Nothing was changed[\s\S]*Now this is about 1 write-back[\s\S]*>77<[\s\S]*draft → cancelled[\s\S]*bea/,
    )
    expect(await countsOf(batch)).toEqual({ draft: 1, cancelled: 1 })
    const forged = await decide('ann', { decision: 'approve', batch })
    expect([forged.status, await countsOf(batch)]).toEqual([409, { draft: 1, cancelled: 1 }])
  })

  test('is approved in part: rows that were picked, and rows that would do the same', async () => {
    const batch = await draftBatch(4)
    const rows = await admin().list({ batch }, 10)
    const picked = await confirm(
      'ann',
      `decision=approve&batch=${batch}&id=${rows[0]?.id}&id=${rows[2]?.id}`,
    )
    expect(picked.text).toContain('Approve 2 replies')
    await picked.send()
    expect((await admin().list({ batch, statuses: ['queued'] }, 10)).map(({ id }) => id)).toEqual([
      rows[0]?.id,
      rows[2]?.id,
    ])
    const alike = await confirm('ann', `decision=approve&batch=${batch}&would=would_send`)
    expect(alike.text).toContain('Approve 2 replies')
    await alike.send()
    expect(await countsOf(batch)).toEqual({ queued: 4 })
  })

  test('goes on with what was stopped, not with the drafts that nobody approved', async () => {
    const batch = await draftBatch(4)
    const [first] = await admin().list({ batch }, 1)
    await (await confirm('ann', `decision=approve&batch=${batch}&id=${first?.id}`)).send()
    await decide('ann', { decision: 'stop', batch })
    const resumption = await confirm('ann', `decision=resume&batch=${batch}`)
    expect(resumption.text).toContain('Go on with 1 reply<')
    expect((await resumption.send()).status).toBe(303)
    expect(await countsOf(batch)).toEqual({ queued: 1, draft: 3 })
  })

  test('of many rows needs their number', async () => {
    const batch = await draftBatch(60)
    const wrong = await (
      await confirm('ann', `decision=approve&batch=${batch}`, { typed: '6' })
    ).send()
    expect([wrong.status, await countsOf(batch)]).toEqual([400, { draft: 60 }])
    // Back to where the number is written.
    const again = `/confirm?decision=approve&amp;batch=${batch}`
    expect(wrong.text).toContain(`href="/console/p/main${again}">Back`)
    await (await confirm('ann', `decision=approve&batch=${batch}`, { typed: ' 60 ' })).send()
    expect(await countsOf(batch)).toEqual({ queued: 60 })
    // The next one waits for these, whichever page says how long it takes.
    const query = `decision=approve&batch=${await draftBatch(1)}`
    const texts = [
      await page(`/batches/${query.replace(/.*=/, '')}`),
      (await confirm('ann', query)).text,
    ]
    const [said, asked] = texts.map((text) => /it takes about ([^.]*)\./i.exec(text)?.[1])
    expect([asked, said === undefined]).toEqual([said, false])
  })
})

describe('a decision needs', () => {
  test('its role, whatever the page offers', async () => {
    const batch = await draftBatch(1)
    for (const decision of [
      'approve',
      'undo',
      'stop',
      'resume',
      'retry',
      'cancel',
      'revert',
      'arrived',
      'lost',
    ])
      expect((await decide('vera', { decision, batch })).status, decision).toBe(403)
    for (const decision of ['approve', 'undo', 'stop', 'resume', 'revert'])
      expect((await decide('olga', { decision, batch })).status, decision).toBe(403)
    // Her own draft.
    expect((await (await confirm('olga', `decision=cancel&batch=${batch}`)).send()).status).toBe(
      303,
    )
    expect(await countsOf(batch)).toEqual({ cancelled: 1 })
  })

  test('to be about the rows that the role was checked for, by their whole ids', async () => {
    const own = await draftBatch(1)
    const [mine] = await admin().list({ batch: own }, 1)
    const queued = `of-ann-${own}`
    await queueDrafts(console.warehouse, queued, [flag()], { status: 'queued', createdBy: 'ann' })
    const [other] = await admin().list({ batch: queued }, 1)
    const id = other?.id ?? ''
    expect((await decide('olga', { decision: 'cancel', batch: own, id })).status).toBe(403)
    expect(
      (await decide('olga', { decision: 'cancel', id: [mine?.id ?? '', id.slice(-14)] })).status,
    ).toBe(409)
    expect(await countsOf(queued)).toEqual({ queued: 1 })
  })

  test('an approver, to send what was withheld', async () => {
    const batch = await draftBatch(1)
    await (await confirm('olga', `decision=cancel&batch=${batch}`)).send()
    const [row] = await admin().list({ batch }, 1)
    expect(await page(`/writebacks/${row?.id}`, 'olga')).not.toContain('Retry')
    const asked = await confirm('olga', `decision=retry&id=${row?.id}`)
    expect(asked.text).toContain('This needs the role approver.')
    const forged = await decide('olga', { decision: 'retry', id: row?.id ?? '' })
    expect(forged.status).toBe(403)
    await (await confirm('ann', `decision=retry&id=${row?.id}`)).send()
    expect(await countsOf(batch)).toEqual({ queued: 1 })
  })

  test('a page of the console behind it, and something that it is about', async () => {
    const batch = await draftBatch(1)
    const cookie = await console.signIn('ann')
    for (const path of ['decide', 'import']) {
      const headers = { cookie, ...ownForm, 'sec-fetch-site': 'cross-site' }
      const body = formBody({ decision: 'stop', batch })
      expect(
        (await console.ask(`/console/p/main/${path}`, { method: 'POST', headers, body })).status,
      ).toBe(403)
    }
    for (const fields of [
      { decision: 'cancel' },
      { decision: 'none', batch },
      { decision: 'stop', batch, would: 'would_send' },
      // Nothing has such a name, and the terminal of the worker would obey it.
      { decision: 'stop', batch: '\u001b[2J' },
      // The beginning of a digest, which the command line takes.
      { decision: 'approve', batch, digest: 'f'.repeat(12) },
    ])
      expect((await decide('ann', fields)).status, JSON.stringify(fields)).toBe(400)
    expect(await countsOf(batch)).toEqual({ draft: 1 })
  })

  test('another person, where nobody approves what they queued', async () => {
    const strict = await startConsole(fillTargets, { settings: { approveOwn: false } })
    await queueDrafts(strict.warehouse, 'own', [flag()], { createdBy: 'ann' })
    const { digest } = await createOutbox(strict.warehouse.projectDb('main')).digestOf({
      batch: 'own',
      statuses: ['draft'],
    })
    const { status, text } = await decide(
      'ann',
      { decision: 'approve', batch: 'own', digest },
      strict,
    )
    expect([status, text.includes('someone else has to approve what you queued')]).toEqual([
      200,
      true,
    ])
  })

  test('a console that may write: with DESKMIRROR_READ_ONLY there are no buttons and no forms', async () => {
    const closed = await startConsole(fillTargets, { readOnly: true })
    const cookie = await closed.signIn('ann')
    const ask = (path: string) => closed.ask(`/console/p/main${path}`, { headers: { cookie } })
    expect([
      (await ask('/import')).status,
      (await ask('/confirm?decision=stop&batch=b')).status,
    ]).toEqual([404, 404])
    expect((await ask('/writebacks')).text).not.toMatch(
      /Import|<form method="post" action="\/console\/p/,
    )
    expect((await decide('ann', { decision: 'stop', batch: 'b' }, closed)).status).toBe(403)
    expect((await importFile(closed, 'a.csv', csv(targets))).status).toBe(403)
  })
})

test('an uncertain reply is shown beside the thread, with what may be it, and its outcome is said by a person', async () => {
  const [target = ''] = targets.slice(59)
  const sent = toTimestamp(Date.now())
  const reply = message(target, 2, { content: 'Lost words.', created_at: sent })
  await openMirror(console.warehouse, 'main').commit(commit('messages', [reply]))
  await console.warehouse.query(`insert into writebacks (project_id, id, operation, conversation_id, payload, status)
    values ('main', 'u1', 'message', '${target}', '{"content":"Lost words.","sender_name":"Ann"}', 'draft')`)
  await console.warehouse.query(
    `update writebacks set status = 'uncertain', sent_at = '${sent}' where id = 'u1'`,
  )
  const shown = await page('/writebacks/u1', 'olga')
  expect(shown).toMatch(/It may or may not have arrived[\s\S]*The same words/)
  expect(await page('/writebacks/u1', 'vera')).not.toContain('then say what you found')
  // Neither answer is the usual one.
  expect(shown).toMatch(
    /<button type="submit" >It arrived<[\s\S]*<button type="submit" >It did not arrive</,
  )
  const digest = /name="digest" value="(\w+)"/.exec(shown)?.[1] ?? ''
  expect(
    (await decide('olga', { decision: 'arrived', id: 'u1', digest: 'f'.repeat(64) })).status,
  ).toBe(409)
  expect((await decide('olga', { decision: 'arrived', id: 'u1', digest })).headers.location).toBe(
    '/console/p/main/writebacks/u1',
  )
  expect((await admin().list({ ids: ['u1'] }, 1))[0]?.status).toBe('succeeded')
  expect(await lastEvents(2)).toEqual([
    ['olga', 'said_it_arrived', 'u1', 1],
    ['olga', 'said_it_arrived', 'u1', 0],
  ])
})

test('the message that decided stands on the page, or why it cannot be shown', async () => {
  const [target = ''] = targets.slice(56)
  const found = message(target, 9, { sender_type: 'agent', content: 'Lost in part. Your team' })
  await openMirror(console.warehouse, 'main').commit(commit('messages', [found]))
  const insert = (id: string, candidate: string) =>
    console.warehouse
      .query(`insert into writebacks (project_id, id, operation, conversation_id, payload, status, created_by)
      values ('main', '${id}', 'message', '${target}', '{"content":"Lost in part.","sender_name":"Ann"}', 'draft', 'ann')`)
      .then(() =>
        console.warehouse.query(`update writebacks set status = 'uncertain', attempts = 1,
        evidence = '{"before":{"ids":["1"]},"candidates":["${candidate}"]}' where id = '${id}'`),
      )
  await insert('m1', '9')
  const shown = await page('/writebacks/m1', 'olga')
  expect(shown).toMatch(/May be this reply<\/b> · message[\s\S]*9[\s\S]*Lost in part. Your team/)
  // Whoever may send again what may have arrived is an approver.
  await admin().decide('lost', { ids: ['m1'] }, { by: 'olga' })
  expect(await page('/writebacks/m1', 'olga')).not.toContain('Retry')
  expect(await page('/writebacks/m1', 'ann')).toContain('Retry')
  const { text } = await confirm('ann', 'decision=retry&id=m1')
  expect(text).toMatch(/may have arrived already[\s\S]*Lost in part. Your team/)
  await insert('m2', '150303')
  const closed = await startConsole(fillTargets, { readOnly: true, beside: console })
  const cookie = await closed.signIn('ann')
  const looked = await closed.ask('/console/p/main/writebacks/m2', { headers: { cookie } })
  expect(looked.text).toMatch(
    /reads nothing from the service[\s\S]*150303[\s\S]*not in the mirror yet/,
  )
})

test('a batch that arrived is taken back as drafts', async () => {
  const afterTheMirror = toTimestamp(Date.now() + 60_000)
  await console.warehouse.query(`insert into writebacks (project_id, id, operation, conversation_id, payload, batch_id, status)
    values ('main', 'h1', 'handled', '${targets[58]}', '{"handled":true}', 'flags', 'queued')`)
  await console.warehouse.query(
    `update writebacks set status = 'succeeded', sent_at = '${afterTheMirror}', evidence = '{"before":{"handledAt":null}}' where id = 'h1'`,
  )
  const { headers } = await decide('ann', { decision: 'revert', batch: 'flags' })
  expect(headers.location).toBe('/console/p/main/batches/flags-revert')
  expect(await countsOf('flags-revert')).toEqual({ draft: 1 })
})

describe('the page before a decision', () => {
  test('shows the texts that its digest names, however often they are edited meanwhile', async () => {
    const batch = await draftBatch(1)
    const digests = new Map<string, string>()
    let isOpen = true
    const editing = (async () => {
      for (let n = 0; isOpen; n += 1) {
        const payload = JSON.stringify({ content: `Wording ${n}.`, sender_name: 'Ann' })
        await console.warehouse.query(
          `update writebacks set payload = '${payload}' where batch_id = '${batch}'`,
        )
        digests.set(
          `Wording ${n}.`,
          (await admin().digestOf({ batch, statuses: ['draft'] })).digest,
        )
        await new Promise(setImmediate)
      }
    })()
    const cookie = await console.signIn('ann')
    const [{ id } = { id: '' }] = await admin().list({ batch }, 1)
    const pages = [`confirm?decision=approve&batch=${batch}`, `confirm?decision=approve&id=${id}`]
    const shown: (readonly [text: string, digest: string])[] = []
    for (let n = 0; n < 60; n += 1) {
      const { text } = await console.ask(`/console/p/main/${pages[n % 2]}`, { headers: { cookie } })
      shown.push([
        /Wording \d+\./.exec(text)?.[0] ?? '',
        /name="digest" value="(\w+)"/.exec(text)?.[1] ?? '',
      ])
    }
    isOpen = false
    await editing
    expect(new Set(shown.map(([text]) => text)).size).toBeGreaterThan(10)
    expect(shown.filter(([text, digest]) => digests.get(text) !== digest)).toEqual([])
  })

  test('counts an operation once, whatever the statuses of its rows', async () => {
    const batch = await draftBatch(5)
    const rows = await admin().list({ batch }, 5)
    for (const [n, { id }] of rows.entries())
      await console.warehouse.query(
        `update writebacks set status = '${n < 2 ? 'failed' : 'conflict'}' where id = '${id}'`,
      )
    const { text } = await confirm('ann', `decision=retry&batch=${batch}`)
    expect(text.match(/\d+ repl(y|ies) goe?s? to/g)).toEqual(['5 replies go to'])
  })

  test('says on which conditions each leaves', async () => {
    const batch = await draftBatch(1)
    const terms = `expect = '17', expires_at = '2030-01-01T00:00:00Z'`
    await console.warehouse.query(`update writebacks set ${terms} where batch_id = '${batch}'`)
    const { text } = await confirm('ann', `decision=approve&batch=${batch}`)
    expect(text).toMatch(
      /only if no visitor wrote after message 17[\s\S]*not after[\s\S]*2030-01-01/,
    )
  })
})

test('all sending is stopped and goes on by an approver, whose name the audit log has', async () => {
  expect(await page('/writebacks', 'olga')).not.toContain('Stop all sending')
  expect((await decide('olga', { decision: 'stop_all' })).status).toBe(403)
  const batch = await draftBatch(1)
  await (await confirm('ann', `decision=approve&batch=${batch}`)).send()
  const stop = await confirm('ann', 'decision=stop_all')
  expect(stop.text).toContain('Nothing of any batch leaves until a person goes on')
  const stopped = await stop.send()
  expect([stopped.status, stopped.headers.location]).toEqual([303, '/console/p/main/writebacks'])
  const again = await decide('ann', { decision: 'stop_all' })
  expect([again.status, again.text.includes('Go on sending…')]).toEqual([409, true])
  for (const path of ['/writebacks', `/batches/${batch}`])
    expect(await page(path)).toMatch(/All sending was stopped<\/b>.*by <bdi>ann/)
  expect((await (await confirm('ann', 'decision=resume_all')).send()).status).toBe(303)
  expect(await page('/confirm?decision=close_circuit')).toContain('nothing to decide')
  expect(await lastEvents(2)).toEqual([
    ['ann', 'resumed_all_sending', '', null],
    ['ann', 'stopped_all_sending', '', null],
  ])
})
