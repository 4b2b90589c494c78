/** Every view for analysts by its name, in the order in which they are created: a view comes after those that it reads. */
import type { AnalyticsView } from './analytics-view.ts'
import { dimAgent } from './dim-agent.ts'
import { dimHour } from './dim-hour.ts'
import { dimProject } from './dim-project.ts'
import { dimVisitor } from './dim-visitor.ts'
import { fctCall } from './fct-call.ts'
import { reportAgentDay } from './report-agent-day.ts'
import { reportAiMonth } from './report-ai-month.ts'
import { reportAnswerDay, reportAnswerMonth, reportAnswerWeek } from './report-answer.ts'
import { reportBacklogDay, reportBacklogHour } from './report-backlog.ts'
import { reportCallDay } from './report-call-day.ts'
import { reportContact, reportContactDay } from './report-contact.ts'
import { reportConversationDay } from './report-conversation-day.ts'
import { reportDay } from './report-day.ts'
import { reportFreshness } from './report-freshness.ts'
import { reportHour, reportWeekHour } from './report-hour.ts'
import { reportMessageHour } from './report-message-hour.ts'
import { reportOpen } from './report-open.ts'
import { reportQuality } from './report-quality.ts'
import { reportRollupDay } from './report-rollup-day.ts'
import { reportSlaDay } from './report-sla-day.ts'
import { reportVisitorDay } from './report-visitor-day.ts'
import { reportWait } from './report-wait.ts'
import { reportWaitDay } from './report-wait-day.ts'
import { reportWorkloadDay } from './report-workload-day.ts'

export const analyticsViews = {
  dim_project: dimProject,
  dim_hour: dimHour,
  dim_agent: dimAgent,
  dim_visitor: dimVisitor,
  fct_call: fctCall,
  report_wait: reportWait,
  report_wait_day: reportWaitDay,
  report_answer_day: reportAnswerDay,
  report_answer_week: reportAnswerWeek,
  report_answer_month: reportAnswerMonth,
  report_conversation_day: reportConversationDay,
  report_backlog_day: reportBacklogDay,
  report_backlog_hour: reportBacklogHour,
  report_call_day: reportCallDay,
  report_day: reportDay,
  report_hour: reportHour,
  report_week_hour: reportWeekHour,
  report_message_hour: reportMessageHour,
  report_agent_day: reportAgentDay,
  report_workload_day: reportWorkloadDay,
  report_sla_day: reportSlaDay,
  report_ai_month: reportAiMonth,
  report_visitor_day: reportVisitorDay,
  report_contact: reportContact,
  report_contact_day: reportContactDay,
  report_open: reportOpen,
  report_rollup_day: reportRollupDay,
  report_quality: reportQuality,
  report_freshness: reportFreshness,
} as const satisfies Record<string, AnalyticsView>

export type AnalyticsViewName = keyof typeof analyticsViews
