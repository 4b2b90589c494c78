/** Compares the mirror with the service, as a whole or by a random sample. Changes neither. */
import { presentTime } from '../../values/cursor-limit.ts'
import type { EpochMs, EpochSeconds } from '../../values/time.ts'
import { clockOffsetCursor } from '../core/mirror.ts'
import type { Mirror } from '../sql/mirror.ts'
import { runVerify, type VerifyDeps } from './verify.ts'
import { runVerifySample, type VerifySampleDeps } from './verify-sample.ts'

type VerifyMirrorDeps = Omit<VerifyDeps & VerifySampleDeps, 'mirror' | 'present' | 'random' | 'sampleSize'> & {
  readonly mirror: Mirror
  /** Compare only so many conversations and visitors, with their children; undefined = everything. */
  readonly sampleSize?: number | undefined
}

export async function verifyMirror({ sampleSize, ...deps }: VerifyMirrorDeps) {
  if (sampleSize !== undefined) return runVerifySample({ ...deps, sampleSize, random: Math.random })
  return runVerify({ ...deps, present: await readPresentTime(deps.mirror, deps.now()) })
}

/** By the service's clock, as the last sync saw it. */
async function readPresentTime(mirror: Mirror, now: EpochMs): Promise<EpochSeconds> {
  const localTime = Math.floor(now / 1000)
  const serviceTime = localTime + (Number(await mirror.readCursor(clockOffsetCursor)) || 0)
  return presentTime({ localTime, serviceTime, newestMessage: (await mirror.latestMessageTime()) ?? 0 })
}
