/** Removes a key from a text: libraries show it in errors, and a service may repeat what it was sent. */
export function createRedactor(key: string): (text: string) => string {
  const forms = [key, encodeURIComponent(key), Buffer.from(key).toString('base64')]
  return (text) =>
    forms.reduce((redacted, form) => redacted.replaceAll(form, '[key]'), text).replace(/svc_live_\w+/g, '[key]')
}
