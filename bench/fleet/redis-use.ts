/** What a Redis has done so far, from its INFO; of a cluster, the master of our keys. */
import type { Redis } from 'ioredis'

export type RedisUse = {
  /** Commands that clients sent, and those that scripts called. */
  readonly commands: number
  readonly cpuMs: number
  readonly bytes: number
}

export type ReadRedisUse = () => Promise<RedisUse>

/** `connect`: to each server. All keys of an installation are on one master, which does the most. */
export const redisUseOf =
  (connect: readonly (() => Redis)[]): ReadRedisUse =>
  async () => {
    const uses = await Promise.all(connect.map(readUse))
    const [busiest] = uses.toSorted((a, b) => b.commands - a.commands)
    if (busiest === undefined) throw new Error('there is no Redis')
    return busiest
  }

async function readUse(connect: () => Redis): Promise<RedisUse> {
  const redis = connect()
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
