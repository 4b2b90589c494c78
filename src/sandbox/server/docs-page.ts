/** The service's API description: as the file, and as a self-contained HTML page. */
import { existsSync, readFileSync } from 'node:fs'
import { parse, stringify } from 'yaml'

/** In a checkout the file is three levels up, in a build four. */
const candidatePaths = ['../../../schema/openapi.yaml', '../../../../schema/openapi.yaml'].map(
  (path) => new URL(path, import.meta.url),
)

let cachedText: string | undefined

export function descriptionText(): string {
  if (cachedText === undefined) {
    const path = candidatePaths.find((candidate) => existsSync(candidate))
    if (path === undefined) throw new Error('schema/openapi.yaml is missing')
    cachedText = readFileSync(path, 'utf8')
  }
  return cachedText
}

export function descriptionPage(): string {
  return renderDocsPage(parse(descriptionText()) as ApiDescription)
}

/** The parts of an OpenAPI document that the page shows. */
type ApiDescription = {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly components?: { readonly schemas?: Readonly<Record<string, unknown>> }
}

type DocumentedMethod = {
  readonly operationId: string
  readonly summary?: string
  readonly description?: string
  readonly 'x-scope'?: string
  readonly parameters?: readonly unknown[]
  readonly requestBody?: unknown
  readonly responses?: unknown
}

const methods = ['get', 'post', 'patch']
const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
pre{background:#f4f4f4;padding:.75rem;overflow:auto;font-size:.8rem}code{background:#f4f4f4}
section{border-top:1px solid #ccc;margin-top:1.5rem}h3 code{font-size:1rem}summary{cursor:pointer}`

function renderDocsPage({ info, paths, components }: ApiDescription): string {
  const sections = Object.entries(paths).flatMap(([path, item]) =>
    methods.flatMap((method) =>
      item[method] === undefined ? [] : [renderOperation(path, method, item[method] as DocumentedMethod)],
    ),
  )
  const schemas = Object.entries(components?.schemas ?? {}).map(
    ([name, schema]) =>
      `<details id="${escapeHtml(name)}"><summary>${escapeHtml(name)}</summary>${renderYaml(schema)}</details>`,
  )
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(info.title)}</title>
<style>${style}</style></head><body><h1>${escapeHtml(info.title)} <small>${escapeHtml(info.version)}</small></h1>
<p>${escapeHtml(info.description ?? '').replaceAll('\n\n', '</p><p>')}</p><p><a href="../openapi.yaml">openapi.yaml</a></p>
<h2>Operations</h2>${sections.join('\n')}<h2>Schemas</h2>${schemas.join('\n')}</body></html>\n`
}

function renderOperation(path: string, method: string, op: DocumentedMethod): string {
  const scope = op['x-scope'] === undefined ? '' : `<p>Scope: <code>${escapeHtml(op['x-scope'])}</code></p>`
  const { parameters, requestBody, responses } = op
  return `<section id="${escapeHtml(op.operationId)}"><h3><code>${method.toUpperCase()} ${escapeHtml(path)}</code></h3>
<p><strong>${escapeHtml(op.summary ?? '')}</strong> ${escapeHtml(op.description ?? '')}</p>${scope}
<details><summary>Request and answers</summary>${renderYaml({ parameters, requestBody, responses })}</details></section>`
}

function renderYaml(value: unknown): string {
  return `<pre>${escapeHtml(stringify(value))}</pre>`
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
