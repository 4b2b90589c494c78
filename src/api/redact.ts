/** Removes a key from a text: libraries show it in errors, and a service may repeat what it was sent. */
export type Redact = (text: string) => string

export function createRedactor(key: string): Redact {
  const forms = [key, encodeURIComponent(key), Buffer.from(key).toString('base64')]
  const redactForm = (text: string, form: string) => text.replaceAll(form, '[key]')
  return (text) => forms.reduce(redactForm, text).replace(/svc_live_\w+/g, '[key]')
}
