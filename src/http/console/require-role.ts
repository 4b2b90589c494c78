/** Whether the viewer may do what a route does. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { problemPage } from '../../console/pages/sign-in.ts'
import { hasRole, type Role } from '../../core/console/roles.ts'
import type { SendPage } from './send-page.ts'

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
