/** The options of the benchmarks at the real limit. */

import { parseArgs } from 'node:util'
import { openWarehouse } from '../src/app/open.ts'
import { recordBehaviours } from '../src/mirror/sql/sync-state.ts'
import type { Switches } from '../src/sandbox/switches.ts'
import { changedMargins, learnedMargin, wideMargins } from '../src/service/core/margin.ts'

/**
 * `--kind`: how the service counts. `--groups`: a pattern of the names of what is measured. `--minutes` after the first
 * one. `--margin`: a fixed one; without it, what a mirror has after thirteen minutes at the limit is stored before.
 */
export function readLimitOptions() {
  const options = {
    kind: { type: 'string', default: 'sliding' },
    groups: { type: 'string', default: '' },
    minutes: { type: 'string', default: '3' },
    margin: { type: 'string' },
  } as const
  const { kind, groups, minutes, margin } = parseArgs({ options }).values
  return {
    isMeasured: ({ name }: { readonly name: string }) => new RegExp(groups).test(name),
    minutes: Number(minutes),
    margin: margin === undefined ? null : Number(margin),
    env: margin === undefined ? {} : { DESKMIRROR_RATE_MARGIN: margin },
    switches: { 'latency.after': 100, 'latency.spread': 0.5, 'rate.kind': kind } as Partial<Switches>,
    title: `${kind}, ${margin === undefined ? 'margin learned' : `margin ${margin}`}`,
  }
}

/** As if a budget of this project had learned it. */
export async function storeLearnedMargins(databaseUrl: string, projectId: string): Promise<void> {
  const narrow = learnedMargin(1, 0)
  const rates = { rate: { requests: 600, windowMs: 60_000 }, writeRate: { requests: 120, windowMs: 60_000 } }
  const warehouse = await openWarehouse(databaseUrl)
  const policy = { ...rates, reserve: 0, rateMargin: null }
  await recordBehaviours(
    warehouse.projectDb(projectId),
    changedMargins(policy, wideMargins, { all: narrow, writes: narrow }),
  )
  await warehouse.close()
}
