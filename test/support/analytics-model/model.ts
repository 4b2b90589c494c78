/**
 * The naive model of the analyst's layer: every row that its tables and views have to show for a
 * project, by loops over the mirrored rows. It shares nothing with the program but the definitions.
 */
import { deriveModelFacts, type ModelFacts } from './facts.ts'
import type { ModelRow, ProjectRows } from './raw-rows.ts'
import { reportsBySpan, slaDays, waitDays } from './reports/answers.ts'
import { aiMonths, backlogDays, contactMonths, conversationDays } from './reports/conversations.ts'
import { hourRows } from './reports/hours.ts'
import { visitorDays } from './reports/visitors.ts'
import { agents, messageHours, workloadDays } from './reports/work.ts'

export type FactTable =
  | 'fct_wait'
  | 'fct_state'
  | 'fct_assignment'
  | 'fct_contribution'
  | 'fct_conversation'
  | 'fct_availability_hour'
  | 'fct_visit'

export type ModelObject =
  | FactTable
  | 'report_wait_day'
  | 'report_answer_day'
  | 'report_answer_week'
  | 'report_answer_month'
  | 'report_duration_day'
  | 'report_duration_week'
  | 'report_duration_month'
  | 'report_conversation_day'
  | 'report_backlog_day'
  | 'report_hour'
  | 'report_agent_day'
  | 'report_agent_month'
  | 'report_agent_first_answer_week'
  | 'report_agent_month_hour'
  | 'report_month'
  | 'report_sla_day'
  | 'report_ai_month'
  | 'report_visitor_day'
  | 'report_workload_day'
  | 'report_message_hour'
  | 'dim_agent'

type RowsBy<Name extends string> = Readonly<Record<Name, readonly ModelRow[]>>

/** The rows of the tables alone. */
export function deriveModelTables(rows: ProjectRows): RowsBy<FactTable> {
  return toTables(deriveModelFacts(rows))
}

/** `until`: the last local day of the backlog, which has a row for every day. */
export function deriveModel(rows: ProjectRows, until: string): RowsBy<ModelObject> {
  const facts = deriveModelFacts(rows)
  return {
    ...toTables(facts),
    report_wait_day: waitDays(facts),
    ...reportsBySpan(facts),
    report_conversation_day: conversationDays(facts),
    report_backlog_day: backlogDays(facts, rows.settings, until),
    report_hour: hourRows(facts),
    report_sla_day: slaDays(facts, rows.settings.targets),
    report_month: contactMonths(facts),
    report_ai_month: aiMonths(facts),
    report_visitor_day: visitorDays(facts),
    report_workload_day: workloadDays(facts),
    report_message_hour: messageHours(rows),
    dim_agent: agents(facts),
  }
}

function toTables(facts: ModelFacts): RowsBy<FactTable> {
  return {
    fct_wait: facts.waits,
    fct_state: facts.states,
    fct_assignment: facts.assignments,
    fct_contribution: facts.contributions,
    fct_conversation: facts.conversations,
    fct_availability_hour: facts.availabilityHours,
    fct_visit: facts.visits,
  }
}
