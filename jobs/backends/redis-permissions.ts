/** Checks that the Redis user has every permission that the queue needs, before anything depends on it. */

import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { errorText } from '../../src/core/error-text.ts'
import type { UserError } from '../../src/core/user-error.ts'
import { unusableQueue } from './connect-retry.ts'

/**
 * What BullMQ's scripts and ours run on keys of the queue. `{key}` and `{other}` are such keys.
 * Source: the scripts of BullMQ 6.7, and src/api/rate-limit/redis-record.ts.
 */
const probeCommands = [
  'HSET {key} a 1',
  'HMSET {key} a 1',
  'HGET {key} a',
  'HMGET {key} a',
  'HGETALL {key}',
  'HEXISTS {key} a',
  'HINCRBY {key} n 1',
  'HDEL {key} n',
  'PEXPIRE {key} 60000',
  'PTTL {key}',
  'EXISTS {key}',
  'TYPE {key}',
  'DEL {key}',
  'SET {key} 1 PX 60000',
  'GET {key}',
  'INCR {key}',
  'DEL {key}',
  'LPUSH {key} a',
  'RPUSH {key} b',
  'LRANGE {key} 0 -1',
  'LLEN {key}',
  'LINDEX {key} 0',
  'LREM {key} 1 c',
  'LTRIM {key} 0 10',
  'RPOPLPUSH {key} {other}',
  'DEL {key} {other}',
  'ZADD {key} 1 a',
  'ZCARD {key}',
  'ZCOUNT {key} 0 1',
  'ZSCORE {key} a',
  'ZRANGE {key} 0 -1',
  'ZREVRANGE {key} 0 -1',
  'ZRANGEBYSCORE {key} 0 1',
  'ZREM {key} b',
  'ZPOPMIN {key}',
  'DEL {key}',
  'SADD {key} a',
  'SMEMBERS {key}',
  'SREM {key} a',
  'XADD {key} * a 1',
  'XTRIM {key} MAXLEN 10',
  'DEL {key}',
  'TIME',
]

/** ARGV: commands, their words separated by a space. Returns the first error, with the command's name. */
const probeScript = `
for _, line in ipairs(ARGV) do
  local words = {}
  for word in string.gmatch(line, '%S+') do table.insert(words, word) end
  local answer = redis.pcall(unpack(words))
  if type(answer) == 'table' and answer.err then
    redis.pcall('DEL', KEYS[1], KEYS[2])
    return words[1] .. ': ' .. answer.err
  end
end
return ''
`

/** Throws UserError: the database does not exist, or the user lacks a permission. */
export async function requirePermissions(client: Redis, url: string, prefix: string): Promise<void> {
  await requireDatabase(client, url)
  // Both keys hash to one slot; BullMQ's own do not, which needs no care because clusters are not supported.
  const key = `${prefix}:probe:${randomUUID()}`
  const lines = probeCommands.map((line) => line.replace('{key}', key).replace('{other}', `${key}:other`))
  const explain = (command: string) => (error: unknown) => {
    const why = errorText(error)
    throw isPermissionError(why) ? missingPermission(url, prefix, `${command}: ${why}`) : error
  }
  const failed = await client.eval(probeScript, 2, key, `${key}:other`, ...lines).then(String, explain('EVAL'))
  if (failed !== '') throw isPermissionError(failed) ? missingPermission(url, prefix, failed) : new Error(failed)
  // Does not wait: the set does not exist.
  await client.bzpopmin(`${key}:other`, 0.01).catch(explain('BZPOPMIN'))
}

/** Any other error is the server's state: out of memory, a replica, unable to save. */
function isPermissionError(why: string): boolean {
  return /NOPERM|ACL failure|can't run this command|can't access/.test(why)
}

/** ioredis continues in database 0 if the one in the address does not exist. */
async function requireDatabase(client: Redis, url: string): Promise<void> {
  const database = Number(new URL(url).pathname.slice(1) || 0)
  await client.select(database).catch((error: unknown) => {
    const why = errorText(error)
    if (!/index is out of range|invalid DB index/i.test(why)) throw error
    const next =
      'choose an existing one (usually 0 to 15) in DESKMIRROR_QUEUE_URL, or raise `databases` in its configuration'
    throw unusableQueue(url, `this Redis has no database ${database}`, next)
  })
}

function missingPermission(url: string, prefix: string, why: string): UserError {
  const user = decodeURIComponent(new URL(url).username) || 'default'
  const next = `allow it: ACL SETUSER ${user} ~${prefix}:* +@all -@dangerous +info`
  return unusableQueue(url, `its user ${user} lacks a permission: ${why}`, next)
}
