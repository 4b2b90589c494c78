/** The screens for those who answer: who waits, search, one conversation, one visitor. */
import { conversationPage } from '../../console/pages/conversation.ts'
import { searchPage } from '../../console/pages/search.ts'
import { visitorPage } from '../../console/pages/visitor.ts'
import { waitingPage } from '../../console/pages/waiting.ts'
import { hideMessages } from '../../core/console/hide-messages.ts'
import { parseSearch } from '../../core/console/search-words.ts'
import { path } from '../../core/html/address.ts'
import type { Screen, ScreenRequest } from './screens.ts'

export const supportScreens: readonly Screen[] = [
  { path: '/waiting', role: 'viewer', show: showWaiting },
  { path: '/search', role: 'viewer', show: showSearch },
  { path: '/conversations/:id', role: 'viewer', show: showConversation },
  { path: '/visitors/:id', role: 'viewer', show: showVisitor },
]

async function showWaiting(request: ScreenRequest) {
  const { data, project, frame, query } = request
  const seconds = Number(query('older') ?? 0)
  const minAgeMs = Number.isInteger(seconds) && seconds > 0 && seconds < 1e9 ? seconds * 1000 : 0
  const isUnassigned = query('assigned') === 'none'
  const after = query('after')
  const isCursor = after !== null && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \S+$/.test(after)
  const reads = await data.reads(project)
  const found = await reads.waiting({ minAgeMs, isUnassigned, after: isCursor ? after : null }, frame.now)
  return waitingPage({ data: shown(request, found), minAgeMs, isUnassigned }, frame)
}

async function showSearch({ data, project, frame, query }: ScreenRequest) {
  const text = query('q')
  if (text === null) return searchPage({ query: '', data: null, words: [], isIndexed: project.hasSearch }, frame)
  const found = await (await data.reads(project)).search(text, query('before'))
  if (found.kind !== 'found') return { redirect: path`/console/p/${project.name}/${`${found.kind}s`}/${found.id}` }
  // Whether a word is found says that it is there, so who may not read messages finds things by their ids only.
  const visible = frame.viewer?.hidesMessages === true ? { ...found, people: [], conversations: [], next: null } : found
  return searchPage({ query: text, data: visible, words: parseSearch(text).words, isIndexed: project.hasSearch }, frame)
}

async function showConversation(request: ScreenRequest) {
  const { data, project, frame, params, query } = request
  const found = await (await data.reads(project)).conversation(params.id ?? '', query('before'))
  return found === null ? null : conversationPage(shown(request, found), frame)
}

async function showVisitor(request: ScreenRequest) {
  const { data, project, frame, params } = request
  const found = await (await data.reads(project)).visitor(params.id ?? '')
  return found === null ? null : visitorPage(shown(request, found), frame)
}

function shown<T>({ frame }: ScreenRequest, found: T): T {
  return frame.viewer?.hidesMessages === true ? hideMessages(found) : found
}
