/** Reads one conversation by its id and stores it in the mirror. */
import type { ApiResponse } from '../../core/api-request.ts'
import { asJsonObject } from '../../core/json.ts'
import { toListShape } from '../../core/list-shape.ts'
import { conversations } from '../../streams/list-streams.ts'
import type { WritebackDeps } from '../deps.ts'

export function conversationPath(id: string): string {
  return conversations.rowPath('', id)
}

export function isHandled({ data }: ApiResponse): boolean {
  return typeof asJsonObject(data)?.handledAt === 'string'
}

/** Makes a write-back visible in the mirror before the next sync. Throws ApiError. */
export async function refreshConversation(
  { get, mirror, projectId: project }: WritebackDeps,
  id: string,
): Promise<void> {
  const response = await get(conversationPath(id), {}, 'write')
  const stored = (await mirror.readRawById('conversations', [id])).get(id)
  const { rows } = conversations.parseRows([toListShape(stored, response.data)], project)
  await mirror.commit({ stream: 'conversations', rows, requestedAt: response.requestedAt, isAuthoritative: true })
}
