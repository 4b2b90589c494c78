/** Every view for analysts by its name, in the order in which they are created: a view comes after those that it reads. */
import type { AnalyticsView } from './analytics-view.ts'
import { fctCall, reportCallDay } from './calls.ts'
import { dimAgent, dimConversation, dimHour, dimProject, dimVisitor } from './dimensions.ts'
import { reportAgentDay, reportAgentMonth, reportWorkloadDay } from './report-agents.ts'
import { reportBacklogDay, reportBacklogHour } from './report-backlog.ts'
import { reportAiMonth, reportConversationDay, reportOpen } from './report-conversations.ts'
import { reportDay, reportMonth } from './report-day.ts'
import {
  reportAnswerDay,
  reportAnswerMonth,
  reportAnswerWeek,
  reportDurationDay,
  reportDurationMonth,
  reportDurationWeek,
} from './report-durations.ts'
import { reportHour, reportMessageHour, reportWeekHour } from './report-hour.ts'
import { reportFreshness, reportQuality } from './report-quality.ts'
import { reportRollupDay, reportRollupFit } from './report-rollup.ts'
import { reportContact, reportContactDay, reportVisitorDay } from './report-visitors.ts'
import { reportSlaDay, reportWait, reportWaitDay } from './report-waits.ts'

export const analyticsViews = {
  dim_project: dimProject,
  dim_hour: dimHour,
  dim_agent: dimAgent,
  dim_visitor: dimVisitor,
  dim_conversation: dimConversation,
  fct_call: fctCall,
  report_wait: reportWait,
  report_wait_day: reportWaitDay,
  report_answer_day: reportAnswerDay,
  report_answer_week: reportAnswerWeek,
  report_answer_month: reportAnswerMonth,
  report_duration_day: reportDurationDay,
  report_duration_week: reportDurationWeek,
  report_duration_month: reportDurationMonth,
  report_conversation_day: reportConversationDay,
  report_backlog_day: reportBacklogDay,
  report_backlog_hour: reportBacklogHour,
  report_call_day: reportCallDay,
  report_day: reportDay,
  report_month: reportMonth,
  report_hour: reportHour,
  report_week_hour: reportWeekHour,
  report_message_hour: reportMessageHour,
  report_agent_day: reportAgentDay,
  report_agent_month: reportAgentMonth,
  report_workload_day: reportWorkloadDay,
  report_sla_day: reportSlaDay,
  report_ai_month: reportAiMonth,
  report_visitor_day: reportVisitorDay,
  report_contact: reportContact,
  report_contact_day: reportContactDay,
  report_open: reportOpen,
  report_rollup_fit: reportRollupFit,
  report_rollup_day: reportRollupDay,
  report_quality: reportQuality,
  report_freshness: reportFreshness,
} as const satisfies Record<string, AnalyticsView>
