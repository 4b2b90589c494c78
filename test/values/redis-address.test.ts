/** Addresses of Redis: one server, a cluster, a master that sentinels name. */
import { expect, test } from 'vitest'
import { queueUrl } from '../../src/config/queue-backends.ts'
import { parseRedisAddress, redisKeyPrefix } from '../../src/values/redis-address.ts'
import { passwordsInUrl, serverDisplayName } from '../../src/values/server-address.ts'

const login = { username: 'app', password: 'p@ss/1' }

test.for([
  ['redis://h:1/2', { kind: 'server', url: 'redis://h:1/2' }],
  [
    'redis+cluster://h1:7000,h2',
    {
      kind: 'cluster',
      isTls: false,
      hosts: [
        { host: 'h1', port: 7000 },
        { host: 'h2', port: 6379 },
      ],
      login: {},
    },
  ],
  [
    'rediss-cluster://app:p%40ss%2F1@[2001:db8::1]:7000/',
    { kind: 'cluster', isTls: true, hosts: [{ host: '2001:db8::1', port: 7000 }], login },
  ],
  [
    'rediss+sentinel://app:p%40ss%2F1@s1,s2:5000/my-master.1/3?sentinel_password=x%26y',
    {
      kind: 'sentinel',
      isTls: true,
      hosts: [
        { host: 's1', port: 26_379 },
        { host: 's2', port: 5000 },
      ],
      login,
      master: 'my-master.1',
      database: 3,
      sentinelLogin: { password: 'x&y' },
    },
  ],
  [
    'redis-sentinel://:p@s1/m',
    {
      kind: 'sentinel',
      isTls: false,
      hosts: [{ host: 's1', port: 26_379 }],
      login: { password: 'p' },
      master: 'm',
      database: 0,
      sentinelLogin: {},
    },
  ],
] as const)('%s', ([text, address]) => {
  expect(parseRedisAddress(text)).toEqual({ ok: true, address })
  expect(queueUrl.parse(text)).toBe(text)
})

test.for([
  ['redis+cluster://', /list of hosts/],
  ['redis+cluster://h1:7000,', /list of hosts/],
  ['redis+cluster://h1:port,h2', /list of hosts/],
  ['redis+cluster://app:pa/ss@h1,h2', /list of hosts|behind its hosts/],
  ['redis+cluster://h1,h2/1', /a cluster has a single database/],
  ['redis+cluster://h1?x=1', /a cluster has a single database/],
  ['redis+sentinel://s1,s2', /names no master/],
  ['redis+sentinel://s1/mymaster/x', /names no master/],
  ['redis+sentinel://s1/mymaster?db=1', /names no master/],
] as const)('%s is refused, and nothing of it is repeated', ([text, why]) => {
  expect(parseRedisAddress(text)).toEqual({ ok: false, why: expect.stringMatching(why) })
  expect(queueUrl.safeParse(text).error?.issues[0]?.message).toMatch(why)
})

test('passwords are found wherever they are, and the name for people has none', () => {
  const text = 'rediss-sentinel://app:p%40ss%2F1@s1:1,s2:2/mymaster/0?sentinel_password=x%26y'
  expect(passwordsInUrl(text)).toEqual(['p%40ss%2F1', 'p@ss/1', 'x%26y', 'x&y'])
  expect(serverDisplayName(text)).toBe('rediss-sentinel://s1:1,s2:2/mymaster/0')
  expect(serverDisplayName('redis+cluster://app:a,b@h1,h2')).toBe('redis+cluster://h1,h2')
  expect(passwordsInUrl('redis+cluster://app:a,b@h1,h2')).toEqual(['a,b'])
})

test('only in a cluster the keys have a hash tag, so those of other servers stay as they are', () => {
  expect(redisKeyPrefix('redis+cluster://h')).toBe('{deskmirror}')
  expect(redisKeyPrefix('redis+sentinel://h/m')).toBe('deskmirror')
  expect(redisKeyPrefix('redis://h')).toBe('deskmirror')
})
