/** Budgets kept in Redis: one hash each, one script, and Redis's own clock. */
import { randomUUID } from 'node:crypto'
import { parseRedisAddress, redisKeyPrefix } from '../../values/redis-address.ts'
import type { EpochMs } from '../../values/time.ts'
import { UserError } from '../../values/user-error.ts'
import { type BudgetRecord, maxSwapDelayMs, type RecordReading } from '../core/budget-record.ts'
import { openRedisClient, redisErrorOf } from '../redis-client.ts'
import { addressProblem, whatToStart } from '../redis-problems.ts'

/**
 * KEYS[1] the record: a hash with the fields version and text ARGV[1] token of this write, a new
 * one each time; '' = only read ARGV[2] the version that must still be stored; '' = no record may
 * be stored ARGV[3] milliseconds since 1970 up to which the write may be done ARGV[4] text ARGV[5]
 * milliseconds after which an unused record expires reply {1 if this write is stored, milliseconds
 * since 1970, run id, version or nil, text or nil}
 *
 * A version is `run id of the server:token`: a restart or a failover changes the run id, and may
 * have lost writes.
 *
 * A node of a cluster answers for the keys that it has, so a single server's address of it could
 * work by chance, beside the record that the other processes share.
 */
const compareAndSetScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local info = redis.pcall('INFO', 'server')
local run = type(info) == 'string' and string.match(info, 'run_id:(%w+)') or ''
if string.sub(KEYS[1], 1, 1) ~= '{' and type(info) == 'string' and string.match(info, 'redis_mode:cluster') then
  return redis.error_reply('MOVED it is part of a cluster')
end
local found = redis.call('HMGET', KEYS[1], 'version', 'text')
local own = run .. ':' .. ARGV[1]
if ARGV[1] ~= '' and found[1] ~= own and (found[1] or '') == ARGV[2] and now <= tonumber(ARGV[3])
then
  redis.call('HSET', KEYS[1], 'version', own, 'text', ARGV[4])
  redis.call('PEXPIRE', KEYS[1], ARGV[5])
  found = {own, ARGV[4]}
end
return {found[1] == own and 1 or 0, string.format('%.3f', now), run, found[1], found[2]}
`

/** After this time without use, no slot is still taken. */
const recordTtlMs = 7 * 24 * 3_600_000

type ScriptReply = readonly [
  isOwn: number,
  now: string,
  run: string,
  version?: string | null,
  text?: string | null,
]

/** KEYS[1] a number, ARGV[1] what it is raised to */
const raiseScript = `
if tonumber(redis.call('GET', KEYS[1]) or '0') < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], ARGV[1]) end`

/**
 * One connection for all budgets, to any Redis. It reconnects by itself; commands fail soon while
 * it is down. Throws UserError if the URL is not valid. `onError` gets texts: ioredis's errors
 * carry the command, which may contain the password.
 */
export function openRedisRecords(url: string, onError: (why: string) => void = () => {}) {
  const redis = openRedisClient(validRedisUrl(url), {
    connectTimeout: 5000,
    commandTimeout: 5000,
    retryStrategy: (tries) => Math.min(2000, tries * 50),
    // A command may have been executed although its reply was lost.
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    // After a failover the old primary refuses writes, so connect to the new one.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  })
  const prefix = redisKeyPrefix(url)
  let lastError: string | null = null
  const noteError = (error: Error) => {
    const why = redisErrorText(redisErrorOf(error))
    // That a connection was closed is only what followed from it.
    if (lastError === null || why !== 'Connection is closed.') lastError = why
    onError(why)
  }
  redis.on('error', noteError).on('node error', noteError)
  redis.on('ready', () => {
    lastError = null
  })
  redis.defineCommand('swapBudgetRecord', { numberOfKeys: 1, lua: compareAndSetScript })
  type ScriptCommand = (...values: (string | number)[]) => Promise<ScriptReply>
  const { swapBudgetRecord } = redis as unknown as { readonly swapBudgetRecord: ScriptCommand }
  const explain = (error: unknown) => {
    const why = lastError ?? redisErrorText(error)
    const { next = whatToStart(url), exitCode = 1 } = addressProblem(why) ?? {}
    if (exitCode === 2) throw cannotShare(why, next)
    throw isDenied.test(why)
      ? cannotShare(
          `it denies access: ${why}`,
          'correct user and password in DESKMIRROR_QUEUE_URL, or the rights of this user in Redis',
        )
      : new UserError({ what: 'Redis', why, next, exitCode })
  }
  const explainToPeople = (error: unknown) => {
    throw new UserError({
      what: 'cannot tell whether the warehouse went back in time',
      why:
        'Redis, which knows how many write-backs were sent, does not answer: ' +
        `${lastError ?? redisErrorText(error)}`,
      next: 'start Redis, or correct DESKMIRROR_QUEUE_URL, and try again: what is queued stays so',
      exitCode: 1,
    })
  }
  const runScript: RunScript = async (...values) => {
    const reply = await swapBudgetRecord.apply(redis, [...values, recordTtlMs]).catch(explain)
    // ioredis falls back to database 0, whose record no other process shares.
    if (lastError !== null && /DB index/i.test(lastError)) throw new Error(`Redis: ${lastError}`)
    // A cluster has no other event for that a node is back.
    lastError = null
    return reply
  }
  return {
    record: (name: string) => redisRecord(runScript, `${prefix}:budget:${name}`),
    /** Numbers that only grow, and never expire. */
    numbers: {
      read: async (name: string) =>
        Number(await redis.get(`${prefix}:sends:${name}`).catch(explainToPeople)),
      raise: async (names: readonly string[], to: number) => {
        for (const name of names)
          await redis.eval(raiseScript, 1, `${prefix}:sends:${name}`, to).catch(explain)
      },
      forget: async (names: readonly string[]) => {
        for (const name of names) await redis.del(`${prefix}:sends:${name}`).catch(explain)
      },
    },
    close: () => redis.disconnect(),
  }
}

/** Redis answers, and accepts not this user, this password, or a command of this user. */
const isDenied =
  /\b(WRONGPASS|NOAUTH|NOPERM)\b|invalid (username-password|password)|without any password configured/

function cannotShare(why: string, next: string): UserError {
  const what = 'cannot share the request budget through Redis'
  return new UserError({ what, why, next })
}

type RunScript = (
  key: string,
  token: string,
  version: string,
  until: EpochMs,
  text: string,
) => Promise<ScriptReply>

function redisRecord(runScript: RunScript, key: string): BudgetRecord {
  return {
    read: async () => toRecordReading(await runScript(key, '', '', 0, '')),
    compareAndSet: async (seen, text) => {
      const reply = await runScript(
        key,
        randomUUID(),
        seen.version ?? '',
        seen.now + maxSwapDelayMs,
        text,
      )
      return { swapped: reply[0] === 1, reading: toRecordReading(reply) }
    },
  }
}

function redisErrorText(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error'
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : undefined
  // The name of our script says nothing to people.
  const message = error.message.replace(/ script: [0-9a-f]{40}, on @user_script.*$/, '')
  return message || (inner === undefined ? error.name : redisErrorText(inner))
}

function toRecordReading([, now, run, version = null, text = null]: ScriptReply): RecordReading {
  return {
    now: Number(now),
    version,
    text,
    restarted: version !== null && !version.startsWith(`${run}:`),
  }
}

/** The URL may hold a password, so no message shows it. */
function validRedisUrl(url: string): string {
  const parsed = URL.parse(url)
  // ioredis reads a path that is not a number as database NaN, and ends the process.
  const group = parseRedisAddress(url)
  if (group.ok && group.address.kind !== 'server') return url
  if (/^rediss?:$/.test(parsed?.protocol ?? '') && /^\/?\d*$/.test(parsed?.pathname ?? ''))
    return url
  throw cannotShare(
    'its address is not a redis:// or rediss:// URL, or the part after ' +
      'the host is not a database number',
    'set DESKMIRROR_QUEUE_URL to one like redis://localhost:6379/0',
  )
}
