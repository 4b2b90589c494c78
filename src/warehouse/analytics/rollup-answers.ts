/** Reads how long visitors waited for answers, as numbers of the service's rollups may count it. */
import { type RawBuilder, sql } from 'kysely'
import type { RollupAnswers } from '../../core/analytics/rollup-answers.ts'
import type { AnswerMeasure } from '../../core/analytics/rollup-measures.ts'
import type { EpochSeconds, Seconds } from '../../core/time.ts'
import { isWithin, type RollupRange } from './rollup-range.ts'
import { epochSeconds, jsonArray } from './sql-time.ts'

type Clock = AnswerMeasure['clock']

const columnsOf = {
  any: { answeredAt: 'w.ended_at', seconds: 'w.answer_seconds', businessSeconds: 'w.answer_business_seconds' },
  human: { answeredAt: 'w.human_answered_at', seconds: 'w.human_seconds', businessSeconds: 'w.human_business_seconds' },
} as const

/** Each column is one JSON array, which is far cheaper than a row for each wait. */
type Row = Readonly<
  Record<'isFirst' | 'createdAt' | 'askedAt' | 'answeredAt' | 'seconds' | 'businessSeconds', string | null>
>

/** Of waits that began or ended in the range. */
export async function readRollupAnswers(range: RollupRange, clock: Clock): Promise<RollupAnswers> {
  const { db, kind, project, calendar } = range
  const { answeredAt, seconds, businessSeconds } = columnsOf[clock]
  const array = (value: RawBuilder<unknown>) => jsonArray(kind, value)
  const { rows } = await sql<Row>`
    select ${array(sql`case when w.wait_number = 1 then 1 else 0 end`)} as "isFirst",
      ${array(sql`case when w.wait_number = 1 then ${epochSeconds(kind, 'c.created_at')} end`)} as "createdAt",
      ${array(epochSeconds(kind, 'w.started_at'))} as "askedAt", ${array(epochSeconds(kind, answeredAt))} as "answeredAt",
      ${array(sql.ref(seconds))} as seconds, ${array(sql.ref(businessSeconds))} as "businessSeconds"
    from fct_wait w
    join fct_conversation c on c.project_id = w.project_id and c.conversation_id = w.conversation_id
    where w.project_id = ${project} and (${isWithin(range, 'w.started_at')} or ${isWithin(range, answeredAt)})
      and ${sql.ref(answeredAt)} is not null and ${sql.ref(seconds)} is not null
      and ${sql.ref(businessSeconds)} is not null`.execute(db)
  const column = <T>(name: keyof Row): T[] => JSON.parse(rows[0]?.[name] ?? '[]')
  const answers = { askedAt: column<EpochSeconds>('askedAt'), answeredAt: column<EpochSeconds>('answeredAt') }
  const createdAt = column<EpochSeconds | null>('createdAt')
  const sinceCreation = (secondsBetween: (from: EpochSeconds, to: EpochSeconds) => Seconds) =>
    createdAt.map((from, n) => (from === null ? null : secondsBetween(from, answers.answeredAt[n] ?? 0)))
  return {
    ...answers,
    isFirst: column<number>('isFirst'),
    seconds: column<Seconds>('seconds'),
    businessSeconds: column<Seconds>('businessSeconds'),
    secondsFromCreation: sinceCreation((from, to) => to - from),
    businessSecondsFromCreation: sinceCreation(calendar.businessSeconds),
  }
}

export async function countWaits(range: RollupRange): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from fct_wait w
    where w.project_id = ${range.project} and (${isWithin(range, 'w.started_at')} or ${isWithin(range, 'w.ended_at')}
      or ${isWithin(range, 'w.human_answered_at')})`.execute(range.db)
  return Number(rows[0]?.count ?? 0)
}
