/**
 * What all routes of the console share: what it reads with, who may do what, and pages in their
 * layout.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config/config.ts'
import { hasRole, type Role, type Viewer } from '../../config/people.ts'
import type { Attempts } from '../../http/http.ts'
import type { Logger } from '../../log.ts'
import { createOutbox } from '../../outbox/sql/outbox.ts'
import type { EpochMs } from '../../values/time.ts'
import type { AuditLog } from '../../warehouse/audit-log.ts'
import type { ConsolePage, Frame } from '../frame.ts'
import { layout, problemPage } from '../layout.ts'

import type { ConsoleProject } from '../project.ts'
import type { ConsoleReads } from '../reads.ts'
import type { ProjectRequest } from '../screen.ts'
import { type ConsoleAccess, createSessions } from './session.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who is signed in; only on routes of the console. */
    viewer: Viewer | null
  }
}

export type ConsoleOptions = {
  readonly reads: ConsoleReads
  /** Its audit log, one-time links and ended sessions. */
  readonly store: Omit<AuditLog, 'storeLink'>
  /**
   * Decisions are made with it; null: nothing can be decided here. Asked each time, as it can be
   * reloaded.
   */
  readonly config: () => Config | null
  readonly projects: () => Promise<readonly ConsoleProject[]>
  readonly access: ConsoleAccess
  /** Those of the whole server. */
  readonly attempts: Attempts
  /** A warehouse that is only looked at. */
  readonly isReadOnly: boolean
  readonly log: Logger
  readonly now: () => EpochMs
}

export const prefix = '/console'

const onlyShows = 'Nothing can be decided here: this console only shows.'

export type Site = ReturnType<typeof createSite>

export type OpenedToWrite = NonNullable<Awaited<ReturnType<Site['openToWrite']>>>

/** `assets`: where the style sheet and the scripts are. */
export function createSite(options: ConsoleOptions, assets: string) {
  const { reads, projects, config, access, isReadOnly, now } = options
  const frame = async (viewer: Viewer | null, project: ConsoleProject | null): Promise<Frame> => ({
    viewer,
    people: access.people().map(({ name, role, replyAs = null }) => ({ name, role, replyAs })),
    projects: viewer === null ? [] : (await projects()).map(({ name }) => name),
    project: project?.name ?? null,
    timeZone: project?.timeZone ?? 'UTC',
    now: now(),
    assets,
    isReadOnly,
    canDecide: config() !== null,
  })
  /** `project` null: the page is about none, or about all. */
  const send = async (
    reply: FastifyReply,
    page: ConsolePage,
    project: ConsoleProject | null = null,
  ) => {
    const { html } = layout(page, await frame(reply.request.viewer, project))
    return reply.type('text/html; charset=utf-8').send(html)
  }
  /** A page in place of the one that was asked for. `to`: where to go on. */
  const sendProblem = (
    reply: FastifyReply,
    status: number,
    title: string,
    text: string,
    to: string | null,
    project: ConsoleProject | null = null,
  ) => send(reply.code(status), problemPage(title, text, to), project)
  const projectFrame = async (viewer: Viewer | null, project: ConsoleProject) => ({
    ...(await frame(viewer, project)),
    project: project.name,
    approveOwn: project.approveOwn,
  })
  const findProject = async (name: unknown) =>
    (await projects()).find((project) => project.name === name) ?? null
  const openProject = async (
    viewer: Viewer | null,
    project: ConsoleProject,
  ): Promise<ProjectRequest> => {
    const warehouse = await reads.warehouse()
    const db = warehouse.projectDb(project.projectId)
    const frame = await projectFrame(viewer, project)
    return { reads, warehouse, db, outbox: createOutbox(db), project, frame }
  }
  /** Whether the role is enough; otherwise the answer has been sent. */
  const requireRole = async (
    { viewer }: FastifyRequest,
    reply: FastifyReply,
    role: Role,
  ): Promise<boolean> => {
    if (viewer !== null && hasRole(viewer.role, role)) return true
    await sendProblem(reply, 403, 'Not allowed', `This needs the role ${role}.`, prefix)
    return false
  }
  return {
    ...options,
    assets,
    sessions: createSessions(options.access, options.store, isReadOnly),
    frame,
    projectFrame,
    findProject,
    openProject,
    send,
    sendProblem,
    requireRole,
    /** To queue or to decide something. Null: the answer has been sent. */
    openToWrite: async (request: FastifyRequest, reply: FastifyReply, role: Role) => {
      if (!(await requireRole(request, reply, role))) return null
      const { viewer, params } = request
      const settings = config()
      const project = await findProject((params as { project?: string }).project)
      if (viewer === null || project === null) reply.callNotFound()
      else if (settings === null)
        await sendProblem(reply, 403, 'Not allowed', onlyShows, prefix, project)
      else return { ...(await openProject(viewer, project)), config: settings, viewer }
      return null
    },
  }
}

/** What a form or an address gives by a name: all texts but empty ones. */
export function valuesOf(fields: unknown): (name: string) => readonly string[] {
  const known =
    typeof fields === 'object' && fields !== null ? (fields as Record<string, unknown>) : {}
  return (name) => {
    const values = [Object.hasOwn(known, name) ? known[name] : []].flat()
    return values.filter((value) => typeof value === 'string').filter((value) => value !== '')
  }
}
