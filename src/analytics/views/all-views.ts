/** Every view for analysts by its name, in the order in which they are created: a view comes after those that it reads. */
import { agentViews } from './agents.ts'
import type { AnalyticsView } from './analytics-view.ts'
import { backlogViews } from './backlog.ts'
import { callViews } from './calls.ts'
import { conversationViews } from './conversations.ts'
import { dayViews } from './days.ts'
import { dimensions } from './dimensions.ts'
import { durationViews } from './durations.ts'
import { hourViews } from './hours.ts'
import { qualityViews } from './quality.ts'
import { rollupViews } from './rollup.ts'
import { visitorViews } from './visitors.ts'
import { waitViews } from './waits.ts'

export const analyticsViews = {
  ...dimensions,
  ...callViews,
  ...waitViews,
  ...durationViews,
  ...conversationViews,
  ...backlogViews,
  ...dayViews,
  ...hourViews,
  ...agentViews,
  ...visitorViews,
  ...rollupViews,
  ...qualityViews,
} satisfies Record<string, AnalyticsView>
