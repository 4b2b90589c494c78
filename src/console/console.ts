/**
 * The web console: pages, their reads, sessions and roles. It asks other modules and decides
 * nothing.
 */

export { draftRole } from './core/permissions.ts'
export { listWritebacksTo } from './pages/conversations.ts'
export { type ConsoleProject, configuredProjects, unconfiguredProject } from './project.ts'
export { openConsoleReads } from './reads.ts'
export { hideMessages } from './screen.ts'
export { createConsoleLink, createWorkerLink, workerAddress } from './sign-in-links.ts'
export { readConversation, readWaiting } from './sql/conversations.ts'
export { replySheet } from './sql/reply-sheet.ts'
export { search } from './sql/search.ts'
export { pageOf, readVisitor } from './sql/visitor.ts'

/** Loaded when the first page is asked for: a worker that shows none needs none of it. */
export const loadRoutes = () => import('./routes/routes.ts')
export const loadStandAlone = () => import('./stand-alone.ts')
