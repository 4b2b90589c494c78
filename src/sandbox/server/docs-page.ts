/** Renders the service's description as one page of HTML that needs nothing from anywhere. Pure. */
import { stringify } from 'yaml'

/** As much of an OpenAPI document as the page shows. */
export type Description = {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly components?: { readonly schemas?: Readonly<Record<string, unknown>> }
}

type Method = {
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

export function pageFor({ info, paths, components }: Description): string {
  const sections = Object.entries(paths).flatMap(([path, item]) =>
    methods.flatMap((method) => (item[method] === undefined ? [] : [operation(path, method, item[method] as Method)])),
  )
  const schemas = Object.entries(components?.schemas ?? {}).map(
    ([name, schema]) => `<details id="${escaped(name)}"><summary>${escaped(name)}</summary>${yaml(schema)}</details>`,
  )
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escaped(info.title)}</title>
<style>${style}</style></head><body><h1>${escaped(info.title)} <small>${escaped(info.version)}</small></h1>
<p>${escaped(info.description ?? '').replaceAll('\n\n', '</p><p>')}</p><p><a href="../openapi.yaml">openapi.yaml</a></p>
<h2>Operations</h2>${sections.join('\n')}<h2>Schemas</h2>${schemas.join('\n')}</body></html>\n`
}

function operation(path: string, method: string, op: Method): string {
  const scope = op['x-scope'] === undefined ? '' : `<p>Scope: <code>${escaped(op['x-scope'])}</code></p>`
  const { parameters, requestBody, responses } = op
  return `<section id="${escaped(op.operationId)}"><h3><code>${method.toUpperCase()} ${escaped(path)}</code></h3>
<p><strong>${escaped(op.summary ?? '')}</strong> ${escaped(op.description ?? '')}</p>${scope}
<details><summary>Request and answers</summary>${yaml({ parameters, requestBody, responses })}</details></section>`
}

function yaml(value: unknown): string {
  return `<pre>${escaped(stringify(value))}</pre>`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
