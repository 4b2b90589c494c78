/** The backends of the queue, by the schemes of their addresses. */
import { addressField } from './fields.ts'

/** How the address of each backend may begin; `embedded` has no address. */
const backendSchemes = { redis: ['redis', 'rediss'], postgres: ['postgres', 'postgresql'] }
export type BackendKind = 'embedded' | keyof typeof backendSchemes

export const queueUrl = addressField('must be redis://host, postgres://host/database or embedded', {
  isOwn: (text) => text === 'embedded',
  schemes: Object.values(backendSchemes).flat(),
})

export const queueUrlHelp =
  'Where the worker keeps its jobs: `embedded` (in its process, for a single worker), `redis://…`, `rediss://…` or `postgres://…`.'

/** `url`: as `queueUrl` accepts it. */
export function backendKindOf(url: string): BackendKind {
  if (url === 'embedded') return url
  const kinds = Object.keys(backendSchemes) as (keyof typeof backendSchemes)[]
  const kind = kinds.find((name) => backendSchemes[name].some((scheme) => url.startsWith(`${scheme}:`)))
  if (kind === undefined) throw new Error('no queue has a URL of this protocol')
  return kind
}
