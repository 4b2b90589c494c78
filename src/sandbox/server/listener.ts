/** Routes each request: to the API, its description, or the sandbox's controls. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { widgetPath } from '../api/widget.ts'
import { type ControlHandler, controlPrefix } from './control.ts'
import { descriptionPage, descriptionText } from './docs-page.ts'
import type { ServerContext } from './receive-request.ts'
import { handleRequest } from './request-handler.ts'

export function createListener(context: ServerContext, prefix: string, control: ControlHandler) {
  return (incoming: IncomingMessage, response: ServerResponse): void => {
    response.sendDate = false
    // A client that disconnects early is not an error of the sandbox.
    for (const stream of [incoming, response]) stream.on('error', () => undefined)
    route(context, prefix, control, incoming, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500, { 'content-type': 'text/plain' })
      response.end(`the sandbox has a bug: ${error instanceof Error ? error.stack : String(error)}\n`)
    })
  }
}

async function route(
  context: ServerContext,
  prefix: string,
  control: ControlHandler,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = incoming.url ?? '/'
  const queryStart = url.indexOf('?')
  const [full, search] = queryStart < 0 ? [url, ''] : [url.slice(0, queryStart), url.slice(queryStart + 1)]
  if (full.startsWith(controlPrefix)) return control(full.slice(controlPrefix.length), search, incoming, response)
  const path = prefix !== '' && full.startsWith(`${prefix}/`) && full !== widgetPath ? full.slice(prefix.length) : full
  if (incoming.method === 'GET' && path === '/openapi.yaml')
    return sendText(response, 'application/yaml', descriptionText())
  if (incoming.method === 'GET' && path === '/public/docs') return sendText(response, 'text/html', descriptionPage())
  // With a prefix configured, other paths do not exist; the widget's path has its own version segment.
  const outside = prefix !== '' && path === full && full !== widgetPath
  return handleRequest(context, outside ? `/outside${full}` : path, search, incoming, response)
}

function sendText(response: ServerResponse, type: string, body: string): void {
  response.writeHead(200, { 'content-type': `${type}; charset=utf-8` })
  response.end(body)
}
