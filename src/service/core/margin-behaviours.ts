/** Learned margins as behaviours of the service: what is stored in `service_behaviours`, and read by a budget that starts. */
import type { ServiceBehaviour } from '../../../schema/row.ts'
import type { Rate } from '../../values/time.ts'
import type { BudgetPolicy, Margins } from './budget.ts'
import { type LearnedMargin, learnedMargin, marginPercent, wideMargin } from './margin.ts'

const names = { all: 'rate.margin', writes: 'write_rate.margin' } as const

/** The margins that differ from `before`. */
export function changedMargins(policy: BudgetPolicy, before: Margins, now: Margins): readonly ServiceBehaviour[] {
  return [
    ...changedMargin(names.all, policy.rate, before.all, now.all),
    ...changedMargin(names.writes, policy.writeRate, before.writes, now.writes),
  ]
}

function changedMargin(name: string, rate: Rate, before: LearnedMargin, now: LearnedMargin): ServiceBehaviour[] {
  const value = encodeMargin(now)
  if (value === encodeMargin(before)) return []
  const near = `near ${rate.requests} in ${rate.windowMs / 1000} s`
  const evidence =
    now.quietWindows === 0
      ? `the service answered 429 ${near}, with a margin of ${marginPercent(before)} %`
      : `no 429 in ${Math.max(now.quietWindows, before.quietWindows + 1)} windows ${near}`
  return [{ name, value, evidence }]
}

function encodeMargin(margin: LearnedMargin): string {
  const reason = margin.refusedPercent === 0 ? '' : `, as ${margin.refusedPercent} % was too narrow`
  return `${marginPercent(margin)} %${reason}`
}

/** From the values of behaviours by name. An unreadable value counts as unknown. */
export function decodeMargins(behaviours: ReadonlyMap<string, string>): Margins {
  return { all: decodeMargin(behaviours.get(names.all)), writes: decodeMargin(behaviours.get(names.writes)) }
}

function decodeMargin(value = ''): LearnedMargin {
  const [, percent, refused = '0'] = /^([1-5]) %(?:, as ([1-4]) % was too narrow)?$/.exec(value) ?? []
  return percent === undefined ? wideMargin : learnedMargin(Number(percent), Number(refused))
}
