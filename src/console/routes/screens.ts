/** The pages below `/console/p/:project`, and who may see each. */
import { draftRole } from '../core/permissions.ts'
import { showBatch } from '../pages/batch.ts'
import { showBudget } from '../pages/budget.ts'
import { showConversation, showSearch, showWaiting } from '../pages/conversations.ts'
import { showCountedConversations } from '../pages/counted-conversations.ts'
import { showConfirmation } from '../pages/decision.ts'
import { importPage } from '../pages/import.ts'
import { showOpen } from '../pages/open-conversations.ts'
import { showOverview } from '../pages/overview.ts'
import { periodTableNames, showPeriodTable } from '../pages/render-period-page.ts'
import { showReport } from '../pages/report.ts'
import { showRun, showRuns } from '../pages/runs.ts'
import { showService } from '../pages/service.ts'
import { showSheet } from '../pages/sheet.ts'
import { showSchema, showStream, showStreams } from '../pages/streams.ts'
import { findVisitor, showVisitor } from '../pages/visitor.ts'
import { showWaits } from '../pages/waits.ts'
import { showWriteback } from '../pages/writeback.ts'
import { showWritebacks } from '../pages/writebacks.ts'
import type { Screen } from '../screen.ts'

export const projectScreens: readonly Screen[] = [
  { path: '', role: 'viewer', show: showOverview },
  { path: '/streams', role: 'viewer', show: showStreams },
  { path: '/streams/:id', role: 'viewer', show: showStream },
  { path: '/runs', role: 'viewer', show: showRuns },
  { path: '/runs/:id', role: 'viewer', show: showRun },
  { path: '/budget', role: 'viewer', show: showBudget },
  { path: '/report', role: 'viewer', show: showReport },
  ...periodTableNames.map(
    (name): Screen => ({
      path: `/${name}`,
      role: 'viewer',
      show: showPeriodTable.bind(null, name),
    }),
  ),
  { path: '/conversations', role: 'viewer', show: showCountedConversations },
  { path: '/schema', role: 'viewer', show: showSchema },
  { path: '/service', role: 'viewer', show: showService },
  { path: '/waiting', role: 'viewer', show: showWaiting },
  { path: '/open', role: 'viewer', show: showOpen },
  { path: '/waits', role: 'viewer', show: showWaits },
  { path: '/search', role: 'viewer', show: showSearch },
  { path: '/conversations/:id', role: 'viewer', show: showConversation },
  { path: '/conversations/:id/visitor', role: 'viewer', show: findVisitor },
  { path: '/visitors/:id', role: 'viewer', show: showVisitor },
  { path: '/writebacks', role: 'viewer', show: showWritebacks },
  { path: '/batches/:id', role: 'viewer', show: showBatch },
  { path: '/writebacks/:id', role: 'viewer', show: showWriteback },
  { path: '/confirm', role: 'operator', show: showConfirmation, isDecision: true },
  { path: '/sheet', role: 'viewer', show: showSheet },
  {
    path: '/import',
    role: draftRole,
    show: async ({ frame, project }) => importPage(project, frame),
    isDecision: true,
  },
]
