/** What a Redis has done so far, from its INFO. */
import { Redis } from 'ioredis'

export type RedisUse = {
  /** Commands that clients sent, and those that scripts called. */
  readonly commands: number
  readonly cpuMs: number
  readonly bytes: number
}

export async function redisUse(url: string): Promise<RedisUse> {
  const redis = new Redis(url)
  try {
    const text = await redis.info('all')
    const value = (name: string) =>
      Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(text)?.[1] ?? 0)
    const commands = [...text.matchAll(/^cmdstat_[^:]+:calls=(\d+)/gm)].reduce(
      (sum, [, calls]) => sum + Number(calls),
      0,
    )
    const cpuMs = (value('used_cpu_user') + value('used_cpu_sys')) * 1000
    return { commands, cpuMs, bytes: value('used_memory') }
  } finally {
    redis.disconnect()
  }
}

export function usedSince(before: RedisUse, now: RedisUse): RedisUse {
  return {
    commands: now.commands - before.commands,
    cpuMs: now.cpuMs - before.cpuMs,
    bytes: now.bytes - before.bytes,
  }
}
