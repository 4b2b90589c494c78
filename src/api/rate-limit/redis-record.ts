/** Budgets kept in Redis: one hash each, one script, and Redis's own clock. */
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { type BudgetRecord, type RecordReading, maxSwapDelayMs } from '../../core/rate-limit/budget-record.ts'
import { UserError } from '../../core/user-error.ts'

/**
 * KEYS[1]  the cell: a hash with the fields version and text
 * ARGV[1]  token of this write, another one each time; '' = only read
 * ARGV[2]  version that must be there still; '' = nothing must be
 * ARGV[3]  milliseconds since 1970 up to which the write may be done
 * ARGV[4]  text
 * ARGV[5]  milliseconds after which an unused cell is forgotten
 * answer   {1 if what is there is this write, milliseconds since 1970, run id, version or nil, text or nil}
 *
 * A version is `run id of the server:token`: a restart or a failover gives another run id, and may have forgotten writes.
 */
const compareAndSetScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local info = redis.pcall('INFO', 'server')
local run = type(info) == 'string' and string.match(info, 'run_id:(%w+)') or ''
local there = redis.call('HMGET', KEYS[1], 'version', 'text')
local mine = run .. ':' .. ARGV[1]
if ARGV[1] ~= '' and there[1] ~= mine and (there[1] or '') == ARGV[2] and now <= tonumber(ARGV[3]) then
  redis.call('HSET', KEYS[1], 'version', mine, 'text', ARGV[4])
  redis.call('PEXPIRE', KEYS[1], ARGV[5])
  there = {mine, ARGV[4]}
end
return {there[1] == mine and 1 or 0, string.format('%.3f', now), run, there[1], there[2]}
`

/** A budget that nobody used for so long holds nothing. */
const recordTtlMs = 7 * 24 * 3_600_000

type ScriptReply = readonly [mine: number, now: string, run: string, version?: string | null, text?: string | null]

export type RedisBudgetRecords = {
  readonly record: (name: string) => BudgetRecord
  readonly close: () => void
}

/**
 * One connection, for all budgets of this process; it comes back by itself for ever. `redis://` or `rediss://`. What is
 * asked while it is away soon fails. Throws UserError where the URL is none. `onTrouble`: with the connection, in words;
 * ioredis's own errors carry the command that failed, which may be the one with the password.
 */
export function openRedisRecords(url: string, onError: (why: string) => void = () => {}): RedisBudgetRecords {
  const redis = new Redis(validRedisUrl(url), {
    connectTimeout: 5000,
    commandTimeout: 5000,
    retryStrategy: (tries) => Math.min(2000, tries * 50),
    // A step that was done although its answer was lost must not be done again on top of itself: what is under way when
    // the connection breaks fails.
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    // After a failover the old primary refuses writes until we have found the new one.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  })
  let lastError: string | null = null
  redis.on('error', (error) => {
    lastError = errorText(error)
    onError(lastError)
  })
  redis.on('ready', () => {
    lastError = null
  })
  redis.defineCommand('budgetCell', { numberOfKeys: 1, lua: compareAndSetScript })
  const { budgetCell } = redis as unknown as {
    readonly budgetCell: (...values: (string | number)[]) => Promise<ScriptReply>
  }
  const runScript: RunScript = (...values) =>
    budgetCell.apply(redis, values).then(
      (answer) => {
        // ioredis goes on in database 0 where the one that the address names does not exist: there nobody shares it.
        if (lastError !== null && /DB index/i.test(lastError)) throw new Error(`Redis: ${lastError}`)
        return answer
      },
      (error: unknown) => {
        throw new Error(`Redis: ${lastError ?? errorText(error)}`)
      },
    )
  return { record: (name) => redisRecord(runScript, `deskmirror:budget:${name}`), close: () => redis.disconnect() }
}

type RunScript = (key: string, token: string, version: string, until: number, text: string, keep: number) => Promise<ScriptReply>

function redisRecord(runScript: RunScript, key: string): BudgetRecord {
  return {
    read: async () => toRecordReading(await runScript(key, '', '', 0, '', recordTtlMs)),
    compareAndSet: async (seen, text) => {
      const answer = await runScript(key, randomUUID(), seen.version ?? '', seen.now + maxSwapDelayMs, text, recordTtlMs)
      return { swapped: answer[0] === 1, reading: toRecordReading(answer) }
    },
  }
}

function errorText(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error'
  const first: unknown = error instanceof AggregateError ? error.errors[0] : undefined
  return error.message || (first === undefined ? error.name : errorText(first))
}

function toRecordReading([, now, run, version = null, text = null]: ScriptReply): RecordReading {
  return { now: Number(now), version, text, restarted: version !== null && !version.startsWith(`${run}:`) }
}

/** The URL may hold a password, so it is in no message. */
function validRedisUrl(url: string): string {
  const parsed = URL.parse(url)
  // ioredis takes a path that is no number for a database NaN, and ends the process.
  if (/^rediss?:$/.test(parsed?.protocol ?? '') && /^\/?\d*$/.test(parsed?.pathname ?? '')) return url
  throw new UserError({
    what: 'cannot share the request budget through Redis',
    why: 'its address is no redis:// or rediss:// URL, or what follows the host is no number of a database',
    next: 'set DESKMIRROR_QUEUE_URL to one like redis://localhost:6379/0',
    exitCode: 2,
  })
}
