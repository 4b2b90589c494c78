/** Compares the mirror with the service, as a whole or by a random sample. Changes neither. */
import { presentTime } from '../../values/cursor-limit.ts'

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
  const localTime = Math.floor(deps.now() / 1000)
  // As the last sync saw the service's clock.
  const serviceTime = localTime + (Number(await deps.mirror.readCursor(clockOffsetCursor)) || 0)
  const newestMessage = (await deps.mirror.latestMessageTime()) ?? 0
  return runVerify({ ...deps, present: presentTime({ localTime, serviceTime, newestMessage }) })
}
