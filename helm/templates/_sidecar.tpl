{{/*
The strategic merge patch that puts the sidecar into a workload. A merge takes nothing away: ports and variables of an earlier
patch would stay beside the new ones. So the patch for kubectl first deletes what an earlier one put in.
*/}}
{{- define "tollgate.sidecarPatch" -}}
{{- $exchanges := eq .Values.sidecar.patchTool "kubectl" }}
{{- include "tollgate.sidecarWorkload" . }}
spec:
  template:
    metadata:
      labels:
        {{- include "tollgate.sidecarLabels" . | nindent 8 }}
      {{- with include (ternary "tollgate.exchangedAnnotations" "tollgate.podAnnotations" $exchanges) . }}
      annotations:
        {{- . | trim | nindent 8 }}
      {{- end }}
    spec:
      terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
      {{- with .Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      initContainers:
        {{- if $exchanges }}
        {{- include "tollgate.deleted" (list "tollgate") | nindent 8 }}
        {{- end }}
        {{- include "tollgate.container" . | nindent 8 }}
      {{- if gt (int .Values.drain.delaySeconds) 0 }}
      containers:
        - name: {{ .Values.sidecar.container }}
          lifecycle:
            preStop:
              # It goes on working until nobody sends to this pod any more.
              sleep:
                seconds: {{ .Values.drain.delaySeconds }}
      {{- end }}
      volumes:
        {{- if $exchanges }}
        {{- include "tollgate.deleted" (include "tollgate.volumeNames" . | fromYamlArray) | nindent 8 }}
        {{- end }}
        {{- include "tollgate.volumes" . | nindent 8 }}
{{- end }}

{{/* The patch that takes out all that patches of these values put in. */}}
{{- define "tollgate.sidecarRemoval" -}}
{{- include "tollgate.sidecarWorkload" . }}
spec:
  template:
    metadata:
      labels:
        {{- range $label, $_ := include "tollgate.sidecarLabels" . | fromYaml }}
        {{ $label }}: null
        {{- end }}
      annotations:
        {{- range include "tollgate.annotationNames" . | fromYamlArray }}
        {{ . }}: null
        {{- end }}
    spec:
      terminationGracePeriodSeconds: {{ default "null" .Values.sidecar.workload.terminationGracePeriodSeconds }}
      initContainers:
        {{- include "tollgate.deleted" (list "tollgate") | nindent 8 }}
      {{- if gt (int .Values.drain.delaySeconds) 0 }}
      containers:
        - name: {{ .Values.sidecar.container }}
          {{- include "tollgate.hooksGivenBack" .Values.sidecar.workload.lifecycle | nindent 10 }}
      {{- end }}
      volumes:
        {{- include "tollgate.deleted" (include "tollgate.volumeNames" . | fromYamlArray) | nindent 8 }}
{{- end }}

{{/* A patch cannot see whether other hooks are left, so only the values can say that the whole key goes. */}}
{{- define "tollgate.hooksGivenBack" -}}
{{- if kindIs "invalid" . -}}
lifecycle:
  preStop: null
{{- else if . -}}
lifecycle:
  $patch: replace
  {{- toYaml . | nindent 2 }}
{{- else -}}
lifecycle: null
{{- end }}
{{- end }}

{{- define "tollgate.sidecarWorkload" -}}
apiVersion: apps/v1
kind: {{ .Values.sidecar.workload.kind }}
metadata:
  name: {{ .Values.sidecar.workload.name }}
{{- end }}

{{/* Elements of a list by their names, which a strategic merge patch takes out of it. */}}
{{- define "tollgate.deleted" -}}
{{- range $i, $name := . }}
{{- if $i }}
{{ end -}}
- name: {{ $name }}
  $patch: delete
{{- end }}
{{- end }}

{{/* Of all volumes that a patch of any values brings, and of those that the values name. */}}
{{- define "tollgate.volumeNames" -}}
{{- $names := list "tollgate-config" "tollgate-tmp" "tollgate-tls" "tollgate-admin-tls" "tollgate-redis-ca" }}
{{- range .Values.extraVolumes }}
{{- $names = append $names .name }}
{{- end }}
{{- toYaml (uniq (concat $names .Values.sidecar.former.volumes)) }}
{{- end }}

{{/* Of all annotations that a patch of any values brings, and of those that the values name. */}}
{{- define "tollgate.annotationNames" -}}
{{- $names := concat (list "checksum/restart" "checksum/secret") (keys .Values.podAnnotations | sortAlpha) }}
{{- toYaml (uniq (concat $names .Values.sidecar.former.annotations)) }}
{{- end }}

{{/* Those of the pod, and null for those of an earlier patch. */}}
{{- define "tollgate.exchangedAnnotations" -}}
{{- $now := include "tollgate.podAnnotations" . | fromYaml }}
{{- range include "tollgate.annotationNames" . | fromYamlArray }}
{{- if not (hasKey $now .) }}
{{ . }}: null
{{- end }}
{{- end }}
{{ toYaml $now }}
{{- end }}
