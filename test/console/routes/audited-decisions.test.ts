/**
 * A decision and its row in the audit log are one: where the log cannot be written, nothing is
 * decided.
 */

import { expect, test } from 'vitest'
import { createOutbox } from '../../../src/outbox/sql/outbox.ts'
import { createAuditLog } from '../../../src/warehouse/audit-log.ts'
import { flagOn, queueDrafts } from '../queued-rows.ts'
import { ownForm, startConsole } from './console-server.ts'
import { csv, fillTargets, importFile, targets } from './import-file.ts'

test('what cannot be recorded is not decided, whatever the decision is', async () => {
  const at = await startConsole(fillTargets)
  const admin = createOutbox(at.warehouse.projectDb('main'))
  for (const batchId of ['new', 'approved', 'stopped', 'done'])
    await queueDrafts(at.warehouse, batchId, targets.slice(0, 3).map(flagOn))
  for (const batch of ['approved', 'stopped', 'done'])
    await admin.decide('approved', { batch }, { by: 'bea', graceMs: 60_000 })
  await admin.decideBatch('stopped', 'stopped', 'bea')
  await at.warehouse.query(
    `update writebacks set evidence = '{"before":{"handledAt":null}}' where batch_id = 'done'`,
  )
  await at.warehouse.query(`update writebacks set status = 'sending' where batch_id = 'done'`)
  await at.warehouse.query(
    `update writebacks set status = 'succeeded', sent_at = '2090-01-01T00:00:00Z' where batch_id = 'done'`,
  )
  const cookie = await at.signIn('ann')
  await at.warehouse.query(`create trigger full_disk before insert on console_events when new.action <> 'signed_in'
    begin select raise(abort, 'no space left'); end`)
  const stateOf = async () =>
    JSON.stringify(await Promise.all([admin.listBatches(9), admin.list({}, 99)]))
  const before = await stateOf()

  const digestOf = async (query: string) => {
    const { text } = await at.ask(`/console/p/main/confirm?${query}`, { headers: { cookie } })
    return /name="digest" value="(\w+)"/.exec(text)?.[1] ?? ''
  }
  const decisions: readonly Record<string, string>[] = [
    { decision: 'approve', batch: 'new', digest: await digestOf('decision=approve&batch=new') },
    { decision: 'undo', batch: 'approved' },
    { decision: 'stop', batch: 'approved' },
    { decision: 'cancel', batch: 'approved' },
    {
      decision: 'resume',
      batch: 'stopped',
      digest: await digestOf('decision=resume&batch=stopped'),
    },
    { decision: 'revert', batch: 'done' },
  ]
  for (const fields of decisions) {
    const body = new URLSearchParams(fields).toString()
    const answer = await at.ask('/console/p/main/decide', {
      method: 'POST',
      headers: { cookie, ...ownForm },
      body,
    })
    expect([fields.decision, answer.status, (await stateOf()) === before]).toEqual([
      fields.decision,
      500,
      true,
    ])
  }
  const file = await importFile(at, 'replies.csv', csv(targets.slice(0, 2)))
  expect([file.status, (await stateOf()) === before]).toEqual([500, true])

  await at.warehouse.query('drop trigger full_disk')
  for (const fields of decisions.filter(
    ({ decision }) => decision !== 'stop' && decision !== 'cancel',
  )) {
    const body = new URLSearchParams(fields).toString()
    const answer = await at.ask('/console/p/main/decide', {
      method: 'POST',
      headers: { cookie, ...ownForm },
      body,
    })
    expect([fields.decision, answer.status]).toEqual([fields.decision, 303])
  }
  const log = await createAuditLog(at.warehouse.db).list(null, 9)
  expect(
    log
      .filter(({ person }) => person === 'ann')
      .map(({ action, subject, count }) => [action, subject, count]),
  ).toEqual([
    ['taken_back', 'done', 3],
    ['resumed', 'stopped', 3],
    ['approval_undone', 'approved', 3],
    ['approved', 'new', 3],
    ['signed_in', null, null],
  ])
})
