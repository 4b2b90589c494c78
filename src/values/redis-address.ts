/**
 * Where Redis is: one server, a cluster, or the master that sentinels name. Pure.
 *
 *     redis://user:password@host:6379/0
 *     redis+cluster://user:password@host1:6379,host2:6379
 *     redis+sentinel://user:password@host1:26379,host2:26379/mymaster/0
 *
 * `rediss…` is TLS; `-` for `+` is the same. The user is that of the servers; sentinels have one of
 * their own: `?sentinel_username=…&sentinel_password=…`.
 */
import { encodingHint, type ParsedAddress, parseServerUrl, splitAddress } from './server-address.ts'

const kinds = ['cluster', 'sentinel'] as const

export const redisGroupSchemes: readonly string[] = ['redis', 'rediss'].flatMap((scheme) =>
  kinds.flatMap((kind) => [`${scheme}+${kind}`, `${scheme}-${kind}`]),
)

export const isRedisGroup = (text: string): boolean =>
  redisGroupSchemes.some((scheme) => text.toLowerCase().startsWith(`${scheme}:`))

type RedisLogin = { readonly username?: string; readonly password?: string }

type RedisGroup = {
  readonly isTls: boolean
  /** To begin with: the group names the others. */
  readonly hosts: readonly { readonly host: string; readonly port: number }[]
  readonly login: RedisLogin
}

type RedisAddress =
  | { readonly kind: 'server'; readonly url: string }
  | (RedisGroup & { readonly kind: 'cluster' })
  | (RedisGroup & {
      readonly kind: 'sentinel'
      readonly master: string
      readonly database: number
      readonly sentinelLogin: RedisLogin
    })

/** The address of a single server is not looked at. */
export function parseRedisAddress(text: string): ParsedAddress<{ readonly address: RedisAddress }> {
  if (!isRedisGroup(text)) return { ok: true, address: { kind: 'server', url: text } }
  const { scheme, user, hosts, rest } = splitAddress(text)
  const [path = '', query = ''] = rest.split('?')
  const parsed = hosts.map((host) => parseServerUrl(`redis://${user}${host}`, ['redis']))
  const urls = parsed.flatMap((host) => (host.ok ? [new URL(host.href)] : []))
  const [first] = urls
  if (first === undefined || urls.length < parsed.length || urls.some((url) => url.hostname === ''))
    return { ok: false, why: unreadable }
  const isCluster = /cluster$/i.test(scheme)
  const group = {
    isTls: /^rediss/i.test(scheme),
    hosts: urls.map(({ hostname, port }) => ({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port || (isCluster ? 6379 : 26_379)),
    })),
    login: toLogin(decodeURIComponent(first.username), decodeURIComponent(first.password)),
  }
  if (isCluster)
    return /^\/?0?$/.test(path) && query === ''
      ? { ok: true, address: { kind: 'cluster', ...group } }
      : {
          ok: false,
          why:
            'has something behind its hosts: remove that, as a cluster ' +
            'has a single database and no settings',
        }
  const [, master = '', database = '0'] = /^\/([\w.-]+)(?:\/(\d*))?\/?$/.exec(path) ?? []
  const own = new URLSearchParams(query)
  const names = [...own.keys()].filter((name) => !/^sentinel_(username|password)$/.test(name))
  if (master === '' || names.length > 0) return { ok: false, why: noMaster }
  const sentinelLogin = toLogin(own.get('sentinel_username'), own.get('sentinel_password'))
  const sentinel = { kind: 'sentinel', ...group, master, sentinelLogin } as const
  return { ok: true, address: { ...sentinel, database: Number(database) } }
}

const unreadable =
  'is not a list of hosts that can be read: write it as ' +
  `redis+cluster://user:password@host1:6379,host2:6379 (${encodingHint})`
const noMaster =
  'names no master behind the sentinels, or has unknown settings: write it as ' +
  'redis+sentinel://host1:26379,host2:26379/mymaster/0'

const toLogin = (username: string | null, password: string | null): RedisLogin => ({
  ...(username && { username }),
  ...(password && { password }),
})

/** Throws Error if the configuration would refuse the address. */
export function redisAddressOf(url: string): RedisAddress {
  const parsed = parseRedisAddress(url)
  if (parsed.ok) return parsed.address
  throw new Error(`the address ${parsed.why}`)
}

/** The user of the servers, for people. */
export function userOfRedis(url: string): string {
  const address = redisAddressOf(url)
  const named =
    address.kind === 'server' ? decodeURIComponent(new URL(url).username) : address.login.username
  return named || 'default'
}

/**
 * Every key begins with it. In a cluster, scripts take keys of one slot only, so the part in braces
 * decides it for all of them.
 */
export function redisKeyPrefix(url: string, name = 'deskmirror'): string {
  return redisAddressOf(url).kind === 'cluster' ? `{${name}}` : name
}
