/**
 * The web console: pages, their reads, sessions and roles. It asks other modules and decides nothing.
 */

export { draftRole } from './core/permissions.ts'
export { type ConsoleProject, unconfiguredProject } from './project.ts'
export { openConsoleReads } from './reads.ts'
export { createConsoleLink, createWorkerLink } from './sign-in-links.ts'
export { replySheet } from './sql/reply-sheet.ts'

/** Loaded when the first page is asked for: a worker that shows none needs none of it. */
export const loadRoutes = () => import('./routes/routes.ts')
export const loadStandAlone = () => import('./stand-alone.ts')
