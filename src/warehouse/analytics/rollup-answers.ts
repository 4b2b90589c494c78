/** Reads how long visitors waited for answers, as numbers of the service's rollups may count it. */
import { sql } from 'kysely'
import type { RollupAnswer } from '../../core/analytics/rollup-events.ts'
import type { EpochSeconds, Seconds } from '../../core/time.ts'
import type { RollupRange } from './rollup-range.ts'
import { epochSeconds } from './sql-time.ts'

type Row = {
  readonly number: number
  readonly createdAt: EpochSeconds | null
  readonly askedAt: EpochSeconds
  readonly endedAt: EpochSeconds | null
  readonly seconds: Seconds | null
  readonly businessSeconds: Seconds | null
  readonly humanAt: EpochSeconds | null
  readonly humanSeconds: Seconds | null
  readonly humanBusinessSeconds: Seconds | null
}

/** Of waits that began or ended in the range: the answer by anyone, and the human one. */
export async function readRollupAnswers({ db, kind, project, from, calendar }: RollupRange): Promise<RollupAnswer[]> {
  const { rows } = await sql<Row>`
    select w.wait_number as number, ${epochSeconds(kind, 'c.created_at')} as "createdAt",
      ${epochSeconds(kind, 'w.started_at')} as "askedAt", ${epochSeconds(kind, 'w.ended_at')} as "endedAt",
      w.answer_seconds as seconds, w.answer_business_seconds as "businessSeconds",
      ${epochSeconds(kind, 'w.human_answered_at')} as "humanAt", w.human_seconds as "humanSeconds",
      w.human_business_seconds as "humanBusinessSeconds"
    from fct_wait w
    join fct_conversation c on c.project_id = w.project_id and c.conversation_id = w.conversation_id
    where w.project_id = ${project}
      and (w.started_at >= ${from} or w.ended_at >= ${from} or w.human_answered_at >= ${from})`.execute(db)
  const toAnswer = (
    clock: RollupAnswer['clock'],
    { number, createdAt, askedAt }: Row,
    answeredAt: EpochSeconds | null,
    seconds: Seconds | null,
    businessSeconds: Seconds | null,
  ): RollupAnswer[] => {
    if (answeredAt === null || seconds === null || businessSeconds === null) return []
    const isFirst = number === 1
    const [secondsFromCreation, businessSecondsFromCreation] =
      createdAt === null || !isFirst
        ? [null, null]
        : [answeredAt - createdAt, calendar.businessSeconds(createdAt, answeredAt)]
    const duration = { seconds, businessSeconds, secondsFromCreation, businessSecondsFromCreation }
    return [{ clock, isFirst, askedAt, answeredAt, ...duration }]
  }
  return rows.flatMap((row) => [
    ...toAnswer('any', row, row.endedAt, row.seconds, row.businessSeconds),
    ...toAnswer('human', row, row.humanAt, row.humanSeconds, row.humanBusinessSeconds),
  ])
}
