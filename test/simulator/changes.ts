/**
 * What others do meanwhile: visitors write, agents answer, a person queues and cancels write-backs,
 * state gets lost.
 */

import { parseRequest } from '../../src/outbox/core/writeback-request.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import type { Ms } from '../../src/values/time.ts'
import { toTimestamp } from '../../src/values/time.ts'
import type { Program } from './program.ts'

import type { World } from './world.ts'

export function scheduleChanges(world: World, clock: { wallOffset: Ms }): void {
  const { scheduler, plan, spawn } = world
  const sometime = (what: string, run: () => void) =>
    scheduler.schedule(null, scheduler.int(0, plan.activeMs - 1), what, run)
  for (let n = 0; n < plan.changes; n += 1) sometime('', () => changeService(world, n))
  for (let n = 0; n < plan.writebacks; n += 1)
    sometime('', () => spawn('person', enqueueProgram(world, n)))
  for (let n = 0; n < plan.decisions; n += 1)
    sometime('', () => spawn('person', cancelProgram(world)))
  for (let n = 0; n < plan.budgetLosses; n += 1) sometime('', () => spawn('accident', loseBudget()))
  if (!plan.setsClock) return
  sometime('', () => {
    clock.wallOffset += scheduler.pick([-40_000, -3000, 3000, 40_000])
    scheduler.log('world', `sets the clock: it is ${clock.wallOffset} ms off`)
  })
}

/** Only changes that an incremental sync can see, unless the plan deletes messages. */
function changeService({ scheduler, sandbox, plan }: World, n: number): void {
  const conversations = [...sandbox.truth('conversations')]
  const conversation = conversations[scheduler.int(0, conversations.length - 1)]?.id ?? ''
  const { mutate } = sandbox
  const changes = {
    'a visitor writes': () => mutate.visitorWrites(conversation, `Question ${n}`),
    'an agent replies': () => mutate.agentReplies(conversation, `Answer ${n}`),
    'an agent marks it as handled': () => mutate.setHandled(conversation, true),
    'a conversation begins': () => mutate.addConversation(undefined, `Hello ${n}`),
    'a visitor comes': () => mutate.addVisitor({ name: `Visitor ${n}` }),
    'a call ends': () => mutate.addCall(undefined, 0),
  }
  const messages = [...sandbox.truth('messages')].filter(
    ({ parentId }) => parentId === conversation,
  )
  if (plan.deletesMessages && messages.length > 1) {
    scheduler.log('service', `a message is deleted (${conversation})`)
    mutate.deleteMessage(conversation, scheduler.int(0, messages.length - 1))
    return
  }
  const names = Object.keys(changes) as (keyof typeof changes)[]
  const kind = scheduler.chance(plan.newVisitorShare)
    ? 'a visitor comes'
    : scheduler.pick(['a visitor writes', ...names])
  scheduler.log('service', `${kind} (${conversation})`)
  changes[kind]()
}

/** Contents are unique, so that the service's ledger tells which write-back arrived. */
function enqueueProgram({ scheduler, sandbox }: World, n: number): Program {
  const pickId = (stream: 'conversations' | 'visitors') => {
    // Few targets, so that lanes get long.
    const rows = [...sandbox.truth(stream)].slice(0, 2)
    return rows[scheduler.int(0, rows.length - 1)]?.id
  }
  const [conversation_id, visitor_id] = [pickId('conversations'), pickId('visitors')]
  const request = scheduler.pick<Record<string, unknown>>([
    { operation: 'message', conversation_id, content: `Reply ${n}`, sender_name: 'Ann' },
    { operation: 'message', conversation_id, content: `Reply ${n}`, sender_name: 'Ann' },
    { operation: 'note', visitor_id, content: `Note ${n}` },
    { operation: 'handled', conversation_id, handled: scheduler.chance(0.7) },
    { operation: 'visitor', visitor_id, name: `Name ${n}` },
  ])
  const lifetimeMs = scheduler.chance(0.2) ? scheduler.int(500, 20_000) : null
  return async ({ scheduler, database, project }, process) => {
    const warehouse = await database.open(scheduler, process)
    const parsed = parseRequest(request)
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.mistakes))
    const expiresAt = lifetimeMs === null ? null : toTimestamp(Date.now() + lifetimeMs)
    const options = { status: 'queued', batchId: null, createdBy: 'Ann', expiresAt } as const
    await createOutbox(warehouse.projectDb(project.projectId)).enqueue([[parsed.request]], options)
    scheduler.log(
      process.name,
      `has queued ${JSON.stringify(request)}, which expires ${expiresAt ?? 'never'}`,
    )
  }
}

function cancelProgram({ cancelled }: World): Program {
  return async ({ scheduler, database, project }, process) => {
    const warehouse = await database.open(scheduler, process)
    const admin = createOutbox(warehouse.projectDb(project.projectId))
    const open = await admin.list({ statuses: ['queued', 'sending', 'uncertain'] }, 100)
    const chosen = open[scheduler.int(0, open.length - 1)]
    if (chosen === undefined) return
    const decided = await admin.decide('cancelled', { ids: [chosen.id] }, { by: 'Ann' })
    if ('moved' in decided) throw new Error('no digest was given')
    const { count, ids } = decided
    for (const id of ids) cancelled.add(id)
    scheduler.log(process.name, `has cancelled ${chosen.id} (${chosen.status}): ${count} changed`)
  }
}

/** A restored copy, or an emptied table. */
function loseBudget(): Program {
  return async ({ scheduler, database }, process) => {
    const warehouse = await database.open(scheduler, process)
    await warehouse.query('delete from sync_budgets returning name')
    scheduler.log(process.name, 'has lost the record of the request budget')
  }
}
