/** What to do about a Redis that does not serve, by its kind and by what it answers. Pure. */
import { redisAddressOf } from '../values/redis-address.ts'
import type { Explanation } from '../values/user-error.ts'

export const writeClusterAddress =
  'write redis+cluster://HOST:PORT in DESKMIRROR_QUEUE_URL, with its user and password'

export function whatToStart(url: string): string {
  switch (redisAddressOf(url).kind) {
    case 'server':
      return 'start the server, or set DESKMIRROR_QUEUE_URL to where it is'
    case 'cluster':
      return (
        'start its servers; if they run, let them announce addresses that this machine ' +
        'reaches (cluster-announce-ip)'
      )
    case 'sentinel':
      return 'start the sentinels, most of which have to run, and the master that they name'
  }
}

/** What Redis answers where it takes no writes, or is of another kind than its address says. */
const addressProblems: readonly (readonly [RegExp, Omit<Explanation, 'why'>])[] = [
  [/^(MOVED|CROSSSLOT) /, { next: writeClusterAddress, exitCode: 2 }],
  [
    /cluster support disabled/,
    { next: 'it is a single server: write redis://… in DESKMIRROR_QUEUE_URL', exitCode: 2 },
  ],
  [
    /unknown command.*sentinel/i,
    {
      next: 'name the sentinels in DESKMIRROR_QUEUE_URL (port 26379), not the servers',
      exitCode: 2,
    },
  ],
  [
    /No such master|^All sentinels are unreachable[^:]*$/,
    { next: 'correct the name of the master in DESKMIRROR_QUEUE_URL: …/mymaster/0', exitCode: 2 },
  ],
  [
    /^All sentinels are unreachable.*(NOAUTH|WRONGPASS|NOPERM)/s,
    {
      next: 'correct ?sentinel_username=…&sentinel_password=… in DESKMIRROR_QUEUE_URL',
      exitCode: 2,
    },
  ],
  [
    /^CLUSTERDOWN /,
    {
      next: 'start its masters that are missing, or a replica of each, then try again',
      exitCode: 1,
    },
  ],
  [
    /\b(OOM|READONLY|NOREPLICAS|MISCONF) /,
    { next: 'let Redis accept writes again, then try again', exitCode: 1 },
  ],
]

/** Null: it is about something else. `why`: the error's message. */
export function addressProblem(why: string) {
  return addressProblems.find(([pattern]) => pattern.test(why))?.[1] ?? null
}
