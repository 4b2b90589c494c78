/** The kinds of queues, by the schemes of their addresses. */
import { addressField } from './fields.ts'

/** How the address of each kind of queue may begin; `embedded` has no address. */
const queueSchemes = { redis: ['redis', 'rediss'], postgres: ['postgres', 'postgresql'] }
export type QueueKind = 'embedded' | keyof typeof queueSchemes

export const queueUrl = addressField('must be redis://host, postgres://host/database or embedded', {
  isOwn: (text) => text === 'embedded',
  schemes: Object.values(queueSchemes).flat(),
})

export const queueUrlHelp =
  'Where the worker keeps its jobs: `embedded` (in its process, for a single worker), `redis://…`, `rediss://…` or `postgres://…`.'

/** `url`: as `queueUrl` accepts it. */
export function queueKindOf(url: string): QueueKind {
  if (url === 'embedded') return url
  const kinds = Object.keys(queueSchemes) as (keyof typeof queueSchemes)[]
  const kind = kinds.find((name) => queueSchemes[name].some((scheme) => url.startsWith(`${scheme}:`)))
  if (kind === undefined) throw new Error('no queue has a URL of this protocol')
  return kind
}
