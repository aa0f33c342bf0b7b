{{/* tollgate.yaml, whole: `config` of the values and what the chart adds to it. */}}
{{- define "tollgate.config" -}}
{{- toYaml (mustMergeOverwrite (deepCopy .Values.config) (include "tollgate.managed" . | fromYaml)) }}
{{- end }}

{{/*
What of tollgate.yaml comes from other values than `config`. As a sidecar we are told to end when the application is gone:
there is nobody left to wait for, so the delay is the application's (tollgate.sidecarPatch).
*/}}
{{- define "tollgate.managed" -}}
listen: {{ printf "%s:%v" .Values.listenHost .Values.containerPorts.http | quote }}
{{- if .Values.tls.existingSecret }}
tls: { cert: /etc/tollgate-tls/tls.crt, key: /etc/tollgate-tls/tls.key }
{{- end }}
admin:
  listen: {{ printf "%s:%v" .Values.listenHost .Values.containerPorts.admin | quote }}
  {{- if .Values.admin.tls.existingSecret }}
  tls: { cert: /etc/tollgate-admin-tls/tls.crt, key: /etc/tollgate-admin-tls/tls.key }
  {{- end }}
  {{- with include "tollgate.adminHosts" . | fromYamlArray }}
  hosts: {{ toJson . }}
  {{- end }}
  token: ${TOLLGATE_ADMIN_TOKEN}
{{- if .Values.decisionsService.enabled }}
decisions:
  listen: {{ printf "%s:%v" .Values.listenHost .Values.containerPorts.decisions | quote }}
{{- end }}
upstream:
  url: {{ .Values.upstream.url | quote }}
store: ${TOLLGATE_STORE_URL}
{{- with .Values.redis.keyPrefix }}
store_options:
  prefix: {{ . | quote }}
{{- end }}
drain:
  delay: {{ ternary .Values.drain.delaySeconds 0 (eq .Values.mode "standalone") }}s
  timeout: {{ .Values.drain.timeoutSeconds }}s
{{- end }}

{{/* Names that the admin port lets in: those of `config`, and those of its Ingress. */}}
{{- define "tollgate.adminHosts" -}}
{{- $published := and (eq .Values.mode "standalone") .Values.adminIngress.enabled }}
{{- toYaml (uniq (concat (dig "admin" "hosts" list .Values.config) (ternary .Values.adminIngress.hosts list $published))) }}
{{- end }}

{{/* Keys that stand both in `ours` and in `theirs`, as paths with a blank after each. */}}
{{- define "tollgate.clashes" -}}
{{- range $key, $value := .ours }}
{{- if hasKey $.theirs $key }}
{{- $theirs := get $.theirs $key }}
{{- $path := printf "%s.%s" $.path $key }}
{{- if and (kindIs "map" $value) (kindIs "map" $theirs) }}
{{- include "tollgate.clashes" (dict "ours" $value "theirs" $theirs "path" $path) }}
{{- else }}
{{- printf "%s " $path }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/*
The gateway reads its file again by itself, and needs a restart for these keys only (docs/operating.md): a hash of the whole file
would restart every pod for every change of a limit.
*/}}
{{- define "tollgate.checksums" -}}
{{- if not .Values.existingConfigMap }}
{{- $config := include "tollgate.config" . | fromYaml }}
{{- $edge := pick (default dict $config.edge) "max_header_size" "headers_timeout" "keep_alive_timeout" "max_connections" }}
{{- $restart := pick $config "listen" "tls" "workers" "admin" "decisions" "store" "store_options" "log" "metrics" "telemetry" }}
checksum/restart: {{ list $restart $edge | toJson | sha256sum }}
{{- end }}
{{- with include "tollgate.secretData" . }}
checksum/secret: {{ . | sha256sum }}
{{- end }}
{{- end }}

{{/* What our Secret holds: what stands in the values themselves (allowInlineSecrets). */}}
{{- define "tollgate.secretData" -}}
{{- with .Values.admin.token }}
admin-token: {{ . | b64enc }}
{{- end }}
{{- with .Values.redis.password }}
store-password: {{ . | urlquery | replace "+" "%20" | b64enc }}
{{- end }}
{{- if contains "@" (toString .Values.redis.url) }}
store-url: {{ .Values.redis.url | b64enc }}
{{- end }}
{{- end }}
