/** The backends of the queue: how their addresses begin, and what a worker does with each. */
import { isRedisGroup, parseRedisAddress, redisGroupSchemes } from '../values/redis-address.ts'
import { addressField } from './fields.ts'

export type BudgetLocation = 'redis' | 'warehouse'

export const queueBackends = {
  embedded: {
    schemes: [],
    sharesBudgetsThrough: 'warehouse',
    allowsSeveralWorkers: false,
  },
  redis: {
    schemes: ['redis', 'rediss', ...redisGroupSchemes],
    sharesBudgetsThrough: 'redis',
    allowsSeveralWorkers: true,
  },
} as const satisfies Record<
  string,
  {
    /** The schemes of its addresses; none: its name is the whole address. */
    readonly schemes: readonly string[]
    /** Where the processes of an installation share the request budgets. */
    readonly sharesBudgetsThrough: BudgetLocation
    /** Otherwise the worker must be the only one on its warehouse. */
    readonly allowsSeveralWorkers: boolean
  }
>

export type BackendKind = keyof typeof queueBackends
const kinds = Object.keys(queueBackends) as BackendKind[]

const isPostgres = (text: string): boolean => /^postgres(ql)?:/i.test(text)
const notPostgres = [
  "names a Postgres server, but jobs are kept in Redis or in the worker's process:",
  'set redis://host for several workers, or embedded for a single one, which works with a ' +
    'Postgres warehouse, too',
].join(' ')

const groupProblem = (text: string): string | null => {
  const parsed = parseRedisAddress(text)
  return parsed.ok ? null : parsed.why
}

export const queueUrl = addressField('must be redis://host or embedded', {
  isOwn: (text) => text === 'embedded' || (isRedisGroup(text) && groupProblem(text) === null),
  schemes: ['redis', 'rediss'],
  explain: (text) => (isPostgres(text) ? notPostgres : groupProblem(text)),
})

export const queueUrlHelp = [
  'Where the worker keeps its jobs: `embedded` (in its process, for a single worker, with ' +
    'either database),',
  'or Redis for several workers: `redis://user:password@host:6379/0`, ' +
    '`redis+cluster://host1,host2`,',
  '`redis+sentinel://host1,host2/mymaster`; `rediss…` is TLS.',
].join(' ')

/** `url`: as `queueUrl` accepts it. */
export function backendKindOf(url: string): BackendKind {
  const kind = kinds.find(
    (name) =>
      name === url ||
      queueBackends[name].schemes.some((scheme) => url.toLowerCase().startsWith(`${scheme}:`)),
  )
  if (kind === undefined) throw new Error('no queue has a URL of this protocol')
  return kind
}

/** `kind`: as a worker has recorded it. Null: it is of another version. */
export function budgetLocationOf(kind: string): BudgetLocation | null {
  const known = kinds.find((name) => name === kind)
  return known === undefined ? null : queueBackends[known].sharesBudgetsThrough
}
