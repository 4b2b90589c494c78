/** The options of the benchmarks at the real limit. */

import { parseArgs } from 'node:util'
import type { Switches } from '../src/sandbox/switches.ts'

/**
 * `--kind`: how the service counts. `--groups`: a pattern of the names of what is measured.
 * `--minutes` after the first one. `--margin`: another one than the default.
 */
export function readLimitOptions() {
  const options = {
    kind: { type: 'string', default: 'sliding' },
    groups: { type: 'string', default: '' },
    minutes: { type: 'string', default: '3' },
    margin: { type: 'string', default: '0.02' },
  } as const
  const { kind, groups, minutes, margin } = parseArgs({ options }).values
  return {
    isMeasured: ({ name }: { readonly name: string }) => new RegExp(groups).test(name),
    minutes: Number(minutes),
    margin: Number(margin),
    env: { DESKMIRROR_RATE_MARGIN: margin },
    switches: {
      'latency.after': 100,
      'latency.spread': 0.5,
      'rate.kind': kind,
    } as Partial<Switches>,
    title: `${kind}, margin ${margin}`,
  }
}
