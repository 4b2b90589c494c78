/**
 * Which write-backs can be claimed now. A lane (an ordering key) holds those to one conversation or
 * visitor, which are sent in order. A claim has an owner: a process, which may be dead.
 */
import { type RawBuilder, sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import type { ProjectId } from '../../values/project.ts'
import type { EpochMs, Ms } from '../../values/time.ts'
import { allOf, readClock } from '../../warehouse/dialect.ts'
import {
  currentProcess,
  isProcessAlive,
  type ProcessIdentity,
} from '../../warehouse/process-identity.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { retryOnDeadlock } from '../../warehouse/transactions.ts'
import { isActiveClaim } from '../active-claims.ts'
import type { Rest } from '../core/batches.ts'
import type { ClaimableWriteback, ClaimFilter, Evidence, Writeback } from '../core/outbox-entry.ts'
import { laneBlockingStatuses } from '../core/state.ts'
import { followDecisions } from './batch-decisions.ts'
import { findOpenDecisions, heldBackSql, type OutboxRow, operationSql, statusesSql } from './row.ts'

/** Delays are shorter than this, so a later due time comes from a clock that was set back since. */
const maxDelayMs: Ms = 30 * 86_400_000

/** No earlier write-back of the lane is unsettled. */
const firstInLaneSql = sql`not exists (select 1 from writebacks before
  where before.project_id = writebacks.project_id
  and before.lane = writebacks.lane and before.seq < writebacks.seq
  and before.status in (${statusesSql(laneBlockingStatuses)}))`

/** A retry or an approval may put one in front of one in flight, which must finish first. */
const laneIdleSql = sql`not exists (select 1 from writebacks other
  where other.project_id = writebacks.project_id
  and other.lane = writebacks.lane and other.seq > writebacks.seq and other.status = 'sending')`

/** The order of its lane allows it to be sent. */
export const nextInLaneSql = sql`${firstInLaneSql} and ${laneIdleSql}`

/** No owner, a dead owner, this one without working on it, or an expired lease. */
function unownedSql(
  now: EpochMs,
  deadOwners: ReadonlySet<string>,
  abandoned: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const free = [
    sql`owner is null`,
    abandoned,
    sql`lease_until <= ${now}`,
    sql`lease_until > ${now + maxDelayMs}`,
    ...[...deadOwners].map((owner) => sql`owner = ${owner}`),
  ]
  return sql`(${sql.join(free, sql` or `)})`
}

/** This process, as the column `owner` holds it. */
export function currentOwner(): string {
  const { host, pid, process } = currentProcess()
  return JSON.stringify({ host, pid, process })
}

type Claim = { readonly id: string; readonly owner: string; readonly token: number }

/** A few for each process. */
async function readClaims(
  { db, project }: ProjectDb,
  condition: RawBuilder<unknown> = sql`true`,
): Promise<readonly Claim[]> {
  const { rows } = await sql<Claim>`select id, owner, fencing_token as token from writebacks
    where project_id = ${project} and owner is not null and ${condition}`.execute(db)
  return rows
}

/** What this process does not work on. What is claimed meanwhile has another token. */
async function releaseAbandoned(
  { db, project }: ProjectDb,
  claims: readonly Claim[],
): Promise<void> {
  const own = currentOwner()
  for (const { id, owner, token } of claims) {
    if (owner !== own || isActiveClaim(id)) continue
    const released = sql`update writebacks set owner = null, lease_until = null
      where project_id = ${project} and id = ${id} and owner = ${owner}
      and fencing_token = ${token}`
    await retryOnDeadlock(() => released.execute(db))
  }
}

/** A condition; nobody has claimed such a row since. */
export async function findAbandoned(
  { db, project }: ProjectDb,
  id: string,
): Promise<RawBuilder<unknown>> {
  const owner = currentOwner()
  const { rows } = await sql<{ token: number }>`select fencing_token as token from writebacks
    where project_id = ${project} and id = ${id} and owner = ${owner}`.execute(db)
  const [found] = rows
  return found === undefined
    ? sql`false`
    : sql`(owner = ${owner} and fencing_token = ${found.token})`
}

function dueSql(now: EpochMs): RawBuilder<unknown> {
  return sql`(due_at is null or due_at <= ${now} or due_at > ${now + maxDelayMs})`
}

export function claimableSql(
  now: EpochMs,
  deadOwners: ReadonlySet<string>,
  abandoned: RawBuilder<unknown> = sql`false`,
): RawBuilder<unknown> {
  const isFree = unownedSql(now, deadOwners, abandoned)
  return sql`status in ('queued','sending') and ${dueSql(now)} and ${isFree} and ${nextInLaneSql}`
}

/** Processes that own claims and are certainly dead. */
export async function findDeadOwners(context: ProjectDb): Promise<ReadonlySet<string>> {
  return deadOwnersOf(await readClaims(context), context.kind)
}

/** A write-back that a process which may be alive has claimed; null: there is none. */
export async function findLiveClaim(context: ProjectDb, now: EpochMs): Promise<Claim | null> {
  const isLeased = sql`lease_until > ${now} and status in ('queued','sending')`
  const claims = await readClaims(context, isLeased)
  const dead = deadOwnersOf(claims, context.kind)
  return claims.find(({ owner }) => !dead.has(owner)) ?? null
}

function deadOwnersOf(claims: readonly Claim[], kind: DatabaseKind): ReadonlySet<string> {
  const owners = new Set(claims.map(({ owner }) => owner))
  return new Set([...owners].filter((owner) => isOwnerDead(owner, kind)))
}

/** Rows follow earlier decisions before new claims, for at most this long at a time. */
const applyForMs: Ms = 500

/**
 * The first of each lane that can be claimed now: those to be verified, then the oldest. Claims of
 * dead processes come on top of `limit`: the job of such a lane stays locked for a while, and the
 * lanes behind it would wait.
 */
export async function findClaimable(
  context: ProjectDb,
  now: EpochMs,
  limit: number,
  filter: ClaimFilter = {},
): Promise<readonly ClaimableWriteback[]> {
  if (!(await followDecisions(context, performance.now() + applyForMs))) return []
  const claims = await readClaims(context)
  await releaseAbandoned(context, claims)
  const deadOwners = deadOwnersOf(claims, context.kind)
  const claimable = claimableSql(now, deadOwners)
  const count = limit + claims.filter(({ owner }) => deadOwners.has(owner)).length
  const find = (condition: RawBuilder<unknown>, order: RawBuilder<unknown>) => sql`select * from (
    select id, lane, operation, status, seq from writebacks
    where project_id = ${context.project} and ${condition} and ${claimFilterSql(filter)}
    and ${claimable} and ${notHeldBackSql(context.project)}
    order by ${order} limit ${count}) as found`
  // The few sent ones are found by their status, the many queued ones read in order of `seq`.
  const sending = find(sql`status = 'sending'`, sql`+seq`)
  const queued = find(sql`status <> 'sending'`, sql`seq`)
  // Verifying needs only reads, so it does not wait behind what waits for a write slot.
  const { rows } = await sql<ClaimableWriteback>`
    ${sending} union all ${queued} order by status desc, seq limit ${count}`.execute(context.db)
  return rows
}

/** Whether anything remains to do, now or later, without a person's decision. */
export async function hasPending(context: ProjectDb, filter: ClaimFilter = {}): Promise<boolean> {
  const { db, project } = context
  const open = await findOpenDecisions(context)
  if (open.cancellation || open.stop) return true
  const { rows } = await sql`
    select 1 from writebacks where project_id = ${project} and status in ('queued','sending')
      and ${notHeldBackSql(project)}
      and ${claimFilterSql(filter)} and ${firstInLaneSql} limit 1`.execute(db)
  return rows.length > 0
}

/** Until when the next write-back that is not due yet waits, and why. */
export function findRest(
  context: ProjectDb,
  now: EpochMs,
  filter: ClaimFilter = {},
): Promise<Rest | null> {
  const waits = sql`due_at > ${now} and due_at <= ${now + maxDelayMs}`
  const condition = sql`${waits} and ${claimFilterSql(filter)} and ${firstInLaneSql}`
  return findFirstRest(context, now, condition)
}

/** The same of a batch; null also if one of its write-backs is due. */
export async function findBatchRest(context: ProjectDb, batch: string): Promise<Rest | null> {
  const clock = await readClock(context.db, context.kind)
  return findFirstRest(context, clock(), sql`batch_id = ${batch}`)
}

async function findFirstRest(
  { db, project }: ProjectDb,
  now: EpochMs,
  condition: RawBuilder<unknown>,
): Promise<Rest | null> {
  const { rows } = await sql<{ until: number | null; why: string | null; isGrace: number }>`
    select due_at as until, reason as why,
      case when undo_until = due_at then 1 else 0 end as "isGrace"
    from writebacks where project_id = ${project} and status in ('queued','sending')
      and ${notHeldBackSql(project)} and ${condition}
    order by coalesce(due_at, 0) limit 1`.execute(db)
  const { until = null, why = null, isGrace = 0 } = rows[0] ?? {}
  if (until === null || until <= now) return null
  const grace = isGrace === 1 ? 'its approval can still be undone' : null
  return { until, why: grace ?? why ?? 'it waits for another attempt' }
}

/** Neither all sending nor its batch is stopped; what is in flight is verified anyway. */
const notHeldBackSql = (project: ProjectId) =>
  sql`not (status = 'queued' and ${heldBackSql(project)})`

function claimFilterSql(filter: ClaimFilter): RawBuilder<unknown> {
  const { lane, withoutLanes = [], withoutOperations = [], withoutQueuedSends = [] } = filter
  const isSend = operationSql(({ isIdempotent }) => !isIdempotent)
  const ofBatch = (batch: string | null) => sql`batch_id is not distinct from ${batch}`
  const isExcluded =
    withoutQueuedSends === 'all'
      ? sql`true`
      : sql`(${sql.join(withoutQueuedSends.map(ofBatch), sql` or `)})`
  return allOf([
    lane === undefined ? null : sql`lane = ${lane}`,
    withoutLanes.length === 0 ? null : sql`lane not in (${sql.join(withoutLanes)})`,
    withoutOperations.length === 0 ? null : sql`operation not in (${sql.join(withoutOperations)})`,
    withoutQueuedSends.length === 0
      ? null
      : sql`not (status = 'queued' and ${isSend} and ${isExcluded})`,
  ])
}

/** In SQLite, a process from before the last boot, as one machine uses the file. */
function isOwnerDead(owner: string, kind: DatabaseKind): boolean {
  const other = parseOwner(owner)
  if (other === null) return true
  const own = currentProcess()
  const alive = isProcessAlive(other, own)
  if (alive !== null) return !alive
  const boot = ({ process }: ProcessIdentity) => process.split('/')[0]
  return kind === 'sqlite' && other.process.includes('/') && boot(other) !== boot(own)
}

/** Null: no process, as SQL may have inserted anything. */
function parseOwner(owner: string): ProcessIdentity | null {
  try {
    const { host, pid, process } = JSON.parse(owner)
    return { host: String(host), pid: Number(pid), process: String(process) }
  } catch {
    return null
  }
}

/** Whether the sender of a row in flight can still do anything. `wasActive`: this one did. */
export function senderState(
  kind: DatabaseKind,
  { owner }: OutboxRow,
  { status, evidence }: Writeback,
  wasActive: boolean,
): Pick<Evidence, 'sender'> {
  if (status !== 'sending' || evidence.sender !== undefined) return {}
  if (owner === null || (owner === currentOwner() && !wasActive)) return { sender: 'ended' }
  return { sender: isOwnerDead(owner, kind) ? 'dead' : 'silent' }
}
