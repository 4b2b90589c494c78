/** Sends a page in its layout, or says which role is missing. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { hasRole, type Role, type Viewer } from '../../config/roles.ts'
import type { ConsoleProject } from '../data/console-project.ts'
import { type Frame, layout, type Page } from '../page.ts'
import { problemPage } from '../pages/sign-in.ts'
import type { ConsoleOptions } from './console-options.ts'

/** `project` null: the page is about none, or about all. */
export type SendPage = (
  reply: FastifyReply,
  page: Page,
  viewer: Viewer | null,
  project?: ConsoleProject | null,
) => Promise<FastifyReply>

export type FrameFor = (viewer: Viewer | null, project: ConsoleProject | null) => Promise<Frame>

export function createFrames({ projects, decisions, isReadOnly, now }: ConsoleOptions, assets: string): FrameFor {
  return async (viewer, project) => ({
    viewer,
    projects: viewer === null ? [] : (await projects()).map(({ name }) => name),
    project: project?.name ?? null,
    timeZone: project?.timeZone ?? 'UTC',
    now: now(),
    assets,
    isReadOnly,
    canDecide: decisions() !== null,
  })
}

export function createSendPage(frameFor: FrameFor): SendPage {
  return async (reply, page, viewer, project = null) => {
    const { html } = layout(page, await frameFor(viewer, project))
    return reply.type('text/html; charset=utf-8').send(html)
  }
}

/** Whether the role is enough; otherwise the answer has been sent. */
export async function requireRole(
  request: FastifyRequest,
  reply: FastifyReply,
  role: Role,
  send: SendPage,
): Promise<boolean> {
  if (request.viewer !== null && hasRole(request.viewer.role, role)) return true
  await send(reply.code(403), problemPage('Not allowed', `This needs the role ${role}.`, '/console'), request.viewer)
  return false
}
