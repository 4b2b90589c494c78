/** Asks the service what a sync will need: the connection, the key, each scope, the clock. Changes nothing. */
import type { Answer, Get, Query } from './core/call.ts'
import { budgetAway, CallFailed, describe, isBudgetAway } from './core/failure.ts'
import type { CheckItem } from './core/report.ts'
import { segment } from './core/segment.ts'
import { day, rfc3339, type Seconds } from './core/time.ts'
import { catalog } from './streams/catalog.ts'
import type { Scope } from './streams/stream.ts'

export type { CheckItem } from './core/report.ts'

/** Clocks further apart than this make people doubt the times they see. */
const tolerated = 60

const newKey = 'create a key under Settings > API keys in the app (only the account owner can)'

/** `now`: by this machine's clock. Never throws CallFailed. */
export async function checkService(get: Get, project: string, now: Seconds): Promise<CheckItem[]> {
  const items: CheckItem[] = []
  for (const [scope, path, query] of probes(project, now)) {
    const result = await probe(get, path, query)
    if (result instanceof CallFailed) {
      const item = explain(scope, result)
      items.push(item)
      // A key that is not accepted, or a service out of reach, answers the other questions too.
      if (item.name !== scope) return items
    } else {
      if (items.length === 0) items.push(...connected(result, now))
      items.push({ name: scope, state: 'ok', detail: `reads ${streamsOf(scope)}`, hint: null })
    }
  }
  return items
}

function probes(project: string, now: Seconds): (readonly [Scope, string, Query])[] {
  const base = `/public/projects/${segment(project)}`
  return [
    ['availability:read', `${base}/availability`, {}],
    ['conversations:read', `${base}/conversations`, { limit: 1 }],
    ['visitors:read', `${base}/visitors`, { limit: 1 }],
    ['calls:read', `${base}/calls`, { from: rfc3339(now - day), to: rfc3339(now), limit: 1 }],
    ['analytics:read', `${base}/analytics`, { from: rfc3339(now - day), to: rfc3339(now) }],
  ]
}

async function probe(get: Get, path: string, query: Query): Promise<Answer | CallFailed> {
  try {
    return await get(path, query, 'fresh')
  } catch (error) {
    if (error instanceof CallFailed) return error
    throw error
  }
}

function connected({ servedAt, requestId }: Answer, now: Seconds): CheckItem[] {
  const id = requestId === null ? '' : ` (request ${requestId})`
  const reached: CheckItem = { name: 'connection', state: 'ok', detail: `the service answers${id}`, hint: null }
  if (servedAt === null || Math.abs(servedAt - now) <= tolerated) return [reached]
  const detail = `this machine's clock says ${rfc3339(now)}, the service's ${rfc3339(servedAt)}`
  return [reached, { name: 'clock', state: 'warning', detail, hint: "set this machine's clock by NTP" }]
}

function explain(scope: Scope, { failure }: CallFailed): CheckItem {
  const detail = describe(failure)
  if (isBudgetAway(failure)) {
    return { name: 'budget', state: 'error', detail, hint: budgetAway.next, retryable: true }
  }
  if (failure.kind !== 'denied') {
    const hint = 'check DESKMIRROR_BASE_URL, and whether this machine reaches that address'
    const retryable = failure.kind === 'transient' || failure.kind === 'throttled'
    return { name: 'connection', state: 'error', detail, hint, retryable }
  }
  if (failure.scope !== null || failure.code === 'api_key_scope_missing') {
    const hint = `without ${scope} these stay empty: ${streamsOf(scope)}; ${newKey} that has it`
    return { name: scope, state: 'warning', detail, hint }
  }
  const wrong = failure.code === 'api_key_wrong_project'
  const hint = wrong
    ? 'set DESKMIRROR_PROJECT_ID (`project_id` in deskmirror.yaml) to the project of the key'
    : `${newKey} and set DESKMIRROR_API_KEY, or what deskmirror.yaml names`
  return { name: 'key', state: 'error', detail, hint }
}

function streamsOf(scope: Scope): string {
  return catalog
    .filter((stream) => stream.scope === scope)
    .map((stream) => stream.name)
    .join(', ')
}
